"""The routes of the traces."""

from __future__ import annotations

from django.urls import path

from traces import piece_views, request_views, views

urlpatterns = [
    path("traces/", views.trace_list, name="traces"),
    path("traces/views/", piece_views.save_view, name="trace_view_save"),
    path("traces/views/<int:key>/remove/", piece_views.remove_view, name="trace_view_remove"),
    path("traces/requests/", request_views.model_requests, name="trace_requests"),
    path("traces/rows/", views.trace_rows, name="trace_rows"),
    path("traces/run/<str:run_id>/", views.trace_of_run, name="trace_of_run"),
    path("traces/<str:trace_id>/", views.trace, name="trace"),
    path("traces/<str:trace_id>/export/<str:name>/", piece_views.export, name="trace_export"),
    path("traces/<str:trace_id>/panels/", views.panels, name="trace_panels"),
    path("traces/<str:trace_id>/pictures/<str:name>/", piece_views.picture, name="trace_picture"),
    path("traces/<str:trace_id>/spans/<str:span_id>/", views.span, name="trace_span"),
    path("traces/<str:trace_id>/spans/<str:span_id>/below/", views.branch, name="trace_branch"),
]
