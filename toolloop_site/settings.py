"""Django's settings. What an operator may change comes from the environment (``docs/settings.md``).

Place in the house: ``toolloop_site``. Neither openai nor mcp is imported from here: migrations and
the admin do not pay for them.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from toolloop_site.env import read_environment

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = read_environment(os.environ, BASE_DIR)

SECRET_KEY = ENVIRONMENT.secret_key
DEBUG = ENVIRONMENT.debug
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)

TOOLLOOP_WEB_TAKES_RUNS = ENVIRONMENT.web_takes_runs
TOOLLOOP_ALLOW_STDIO = ENVIRONMENT.allow_stdio
TOOLLOOP_EMBEDDINGS = ENVIRONMENT.embeddings
TOOLLOOP_WORKSPACES = ENVIRONMENT.workspaces
TOOLLOOP_WORKSPACE_SCOPE = ENVIRONMENT.workspace_scope
TOOLLOOP_WORKSPACE_DENY = ENVIRONMENT.workspace_deny
TOOLLOOP_WORKSPACE_UNWALLED = ENVIRONMENT.workspace_unwalled
TOOLLOOP_EVENT_SINKS = ENVIRONMENT.event_sinks
TOOLLOOP_TRACE_RETENTION = "agents.retention.days_by_assistant"
TOOLLOOP_TRACE_SECRETS = "agents.secret_values.current_secrets"
TOOLLOOP_TRACE_ACCESS = "agents.access.readable_traces"
TOOLLOOP_PROVIDER_STANDING = "agents.runs.provider_health.standing_of_all"
TOOLLOOP_ENCRYPTION_KEYS = ENVIRONMENT.encryption_keys
TOOLLOOP_ALLOWED_HOSTS = ENVIRONMENT.trusted_hosts
TOOLLOOP_ALLOWED_ENV = ENVIRONMENT.trusted_env
TOOLLOOP_HOOK_MODULES = ENVIRONMENT.hook_modules
TOOLLOOP_RUNS_PER_PROCESS = ENVIRONMENT.runs_per_process
TOOLLOOP_RUNS_PER_USER = ENVIRONMENT.runs_per_user
TOOLLOOP_TRACE_REDACT = ENVIRONMENT.trace_redact
REDIS_URL = ENVIRONMENT.redis_url
OPENAI_API_KEY = ENVIRONMENT.openai_api_key
OPENAI_BASE_URL = ENVIRONMENT.openai_base_url
OPENAI_MODEL = ENVIRONMENT.openai_model
OTEL_EXPORTER_OTLP_ENDPOINT = ENVIRONMENT.otlp_endpoint

INSTALLED_APPS = [
    "daphne",
    "agents.admin_config.ToolloopAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "agents",
    "traces",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "toolloop_site.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "toolloop_site.urls"
ASGI_APPLICATION = "toolloop_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "agents.approval_views.waiting_approvals",
            ],
        },
    },
]

DATABASES = {"default": ENVIRONMENT.database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS = {
    "default": (
        {
            # Nothing is kept in Redis: who misses a message reads the database.
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [ENVIRONMENT.redis_url], "prefix": "toolloop"},
        }
        if ENVIRONMENT.redis_url
        else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    ),
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Files are served from where they are, with DEBUG off too: nothing has to be collected.
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_AUTOREFRESH = DEBUG

# An assistant's page posts five fields for each tool; the size of a request is limited as well.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENVIRONMENT.is_https
CSRF_COOKIE_SECURE = ENVIRONMENT.is_https
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "agents": {"level": "INFO"},
        # A traceback each second while Redis is away; agents.runs.relay says so once.
        "channels_redis": {"level": "CRITICAL"},
        "traces": {"level": "INFO"},
    },
}
