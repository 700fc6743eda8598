"""The routes of the chat."""

from __future__ import annotations

from django.urls import path

from agents import approval_views, file_views, health, note_views, transcript_views, views

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", views.home, name="home"),
    path("c/list/", views.conversation_list, name="conversation_list"),
    path("c/new/", views.new_conversation, name="new_conversation"),
    path("c/import/", transcript_views.import_conversations, name="import_conversations"),
    path(
        "c/<str:conversation_id>/export/",
        transcript_views.export_conversation,
        name="export_conversation",
    ),
    path("c/<str:conversation_id>/", views.conversation, name="conversation"),
    path(
        "c/<str:conversation_id>/files/", file_views.conversation_files, name="conversation_files"
    ),
    path(
        "c/<str:conversation_id>/files/<path:path>",
        file_views.conversation_file,
        name="conversation_file",
    ),
    path("c/<str:conversation_id>/log/", views.log, name="conversation_log"),
    path("c/<str:conversation_id>/send/", views.send_message, name="send_message"),
    path("c/<str:conversation_id>/rename/", views.rename_conversation, name="rename_conversation"),
    path("c/<str:conversation_id>/pin/", views.pin_conversation, name="pin_conversation"),
    path("c/<str:conversation_id>/delete/", views.delete_conversation, name="delete_conversation"),
    path("notes/", note_views.notes, name="notes"),
    path("notes/delete/", note_views.delete_note, name="delete_note"),
    path("approvals/", approval_views.approvals, name="approvals"),
    path("approvals/decide/", approval_views.decide, name="decide_approval"),
    path("attachments/<str:message_id>/<int:position>/", views.attachment, name="attachment"),
]
