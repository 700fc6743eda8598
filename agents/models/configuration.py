"""What an operator configures: providers, servers with their tools, assistants, prompts, trusted
names.

Place in the house: ``agents.models``. Constraints stand in the database, not only in forms.
"""

from __future__ import annotations

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy

from agents.encryption import EncryptedJSONField, EncryptedTextField

SERVER_ID_PATTERN = r"^(?=.{1,64}\Z)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\Z"
"""ASCII letters, digits, hyphens and dots, no empty part, at most 64 in all: flat tool names depend
on it. The length stands here too because SQLite does not enforce a column's."""

SERVER_ID_MESSAGE = (
    "A server id holds letters, digits, hyphens and dots, for example github.enterprise: at most "
    "64 characters, no underscore (it separates server and tool in the model's view) and no empty "
    "part between dots."
)


class Provider(models.Model):
    """An OpenAI-compatible endpoint. The key is named (``api_key_env``) or stored encrypted.

    ``failures`` in a row, ``rests_until``, ``barred`` (key, billing) and ``last_failure`` are its
    standing, written by ``agents.runs.provider_health``.
    """

    provider_id = models.CharField(max_length=100, unique=True)
    base_url = models.CharField(max_length=500)
    api_key_env = models.CharField(max_length=200, blank=True)
    api_key = EncryptedTextField(blank=True, default="")
    default_model = models.CharField(max_length=200, blank=True)
    fallback_model = models.CharField(max_length=200, blank=True)
    vision = models.BooleanField(default=False)
    prices = models.JSONField(default=dict, blank=True)
    timeout_ms = models.PositiveIntegerField(default=60_000)
    max_retries = models.PositiveIntegerField(default=2)
    system_first_only = models.BooleanField(default=False)
    tool_call_id_pattern = models.CharField(max_length=100, blank=True)
    no_stream_options = models.BooleanField(default=False)
    no_parallel_calls = models.BooleanField(default=False)
    call_fields = models.JSONField(default=dict, blank=True)
    plain_schemas = models.BooleanField(default=False, db_default=False)
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    rests_until = models.DateTimeField(null=True, blank=True, editable=False)
    barred = models.CharField(max_length=10, blank=True, default="", db_default="", editable=False)
    last_failure = models.TextField(blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ["provider_id"]
        constraints = [
            models.CheckConstraint(condition=~Q(provider_id=""), name="provider_id_not_empty"),
            models.CheckConstraint(condition=~Q(base_url=""), name="provider_base_url_not_empty"),
            models.CheckConstraint(
                condition=Q(timeout_ms__gte=1), name="provider_timeout_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.provider_id

    @classmethod
    def forget_failures(cls, provider_id: str) -> None:
        """Let a provider be asked in its turn again, whatever it did before."""
        standing = {"failures": 0, "rests_until": None, "barred": "", "last_failure": ""}
        cls.objects.filter(provider_id=provider_id).update(**standing)


class Transport(models.TextChoices):
    """How a server is reached."""

    STDIO = "stdio", gettext_lazy("stdio (a command)")
    HTTP = "http", gettext_lazy("streamable HTTP")
    SSE = "sse", gettext_lazy("HTTP with SSE (old)")
    PYTHON = "python", gettext_lazy("Python module")


class Review(models.TextChoices):
    """What happens when a tool's definition changes."""

    BLOCK = "block", gettext_lazy("block until approved")
    WARN = "warn", gettext_lazy("warn")
    OFF = "off", gettext_lazy("off")


class Server(models.Model):
    """One MCP server. ``env`` and ``headers`` may name environment variables as ``$ENV.NAME``."""

    server_id = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(SERVER_ID_PATTERN, SERVER_ID_MESSAGE)],
    )
    transport = models.CharField(max_length=10, choices=Transport.choices)
    command = models.CharField(max_length=500, blank=True)
    args = models.JSONField(default=list, blank=True)
    env = EncryptedJSONField(default=dict, blank=True)
    cwd = models.CharField(max_length=500, blank=True)
    url = models.CharField(max_length=1000, blank=True)
    headers = EncryptedJSONField(default=dict, blank=True)
    module = models.CharField(max_length=300, blank=True)
    tool_timeout_seconds = models.FloatField(null=True, blank=True)
    tool_max_seconds = models.FloatField(null=True, blank=True)
    parallel_calls = models.PositiveIntegerField(null=True, blank=True)
    review = models.CharField(max_length=10, choices=Review.choices, default=Review.BLOCK)
    protocol = models.CharField(max_length=40, blank=True, editable=False)
    last_error = models.TextField(blank=True, editable=False)
    checked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["server_id"]
        constraints = [
            models.UniqueConstraint(Lower("server_id"), name="server_id_unique_without_case"),
            models.CheckConstraint(
                condition=Q(server_id__regex=SERVER_ID_PATTERN),
                name="server_id_pattern",
                violation_error_message=SERVER_ID_MESSAGE,
            ),
            models.CheckConstraint(
                condition=Q(transport="stdio") & ~Q(command="")
                | Q(transport__in=["http", "sse"]) & ~Q(url="")
                | Q(transport="python") & ~Q(module=""),
                name="server_transport_complete",
                violation_error_message=(
                    "stdio needs a command, http and sse a URL, python a module."
                ),
            ),
            models.CheckConstraint(
                condition=Q(parallel_calls__isnull=True) | Q(parallel_calls__gte=1),
                name="server_parallel_calls_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.server_id


class OnToolError(models.TextChoices):
    """What a failed call of the first turn does after its attempts."""

    RETURN_TO_MODEL = "return_to_model", gettext_lazy("return to the model")
    FAIL = "fail", gettext_lazy("fail the run")


class Assistant(models.Model):
    """A configured persona: prompts, model, servers, whitelist, limits, hooks.

    ``further_models`` are asked after the fallback, in order: ``[{"provider", "model"}]``.
    ``null`` limits have the engine's defaults (``agents.loop.limits``); they are stored here so
    that the database alone tells what a run will do. ``version`` is the number of the newest
    ``AssistantVersion``, 0 before the first. ``groups`` may chat with it, ``trace_groups`` read
    every trace of it, ``approver_groups`` decide on its calls (``agents.access`` says what none
    means).
    """

    assistant_id = models.CharField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    is_system = models.BooleanField(default=False, editable=False)
    version = models.PositiveIntegerField(default=0, editable=False)
    provider = models.ForeignKey(
        Provider, on_delete=models.PROTECT, null=True, blank=True, related_name="assistants"
    )
    model = models.CharField(max_length=200, blank=True)
    fallback_model = models.CharField(max_length=200, blank=True)
    fallback_provider = models.ForeignKey(
        Provider, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    further_models = models.JSONField(default=list, blank=True)
    fallback_assistant = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    starters = models.JSONField(default=list, blank=True)
    disable_global_prompts = models.BooleanField(default=False)
    prompts = models.JSONField(default=list, blank=True)
    prompt_presets = models.JSONField(default=dict, blank=True)
    servers = models.ManyToManyField(Server, through="AssistantServer", related_name="assistants")
    tool_loop = models.BooleanField(default=True)
    max_turn = models.PositiveIntegerField(default=5, validators=[MinValueValidator(1)])
    options = models.JSONField(default=dict, blank=True)
    create_hook = models.CharField(max_length=300, blank=True)
    next_hook = models.CharField(max_length=300, blank=True)
    before_tool_call_hook = models.CharField(max_length=300, blank=True)
    after_tool_call_hook = models.CharField(max_length=300, blank=True)
    max_tools = models.PositiveIntegerField(default=20)
    tool_result_max_chars = models.PositiveIntegerField(default=8000)
    turn_result_max_chars = models.PositiveIntegerField(default=32_000)
    max_consecutive_errors = models.PositiveIntegerField(default=3)
    repeat_limit = models.PositiveIntegerField(default=3)
    run_timeout_seconds = models.FloatField(default=600)
    max_run_tokens = models.PositiveIntegerField(null=True, blank=True)
    tool_timeout_seconds = models.FloatField(default=30)
    tool_max_seconds = models.FloatField(default=120)
    parallel_calls = models.PositiveIntegerField(default=8)
    parameter_attempts = models.PositiveIntegerField(default=3)
    on_tool_error = models.CharField(
        max_length=20, choices=OnToolError.choices, default=OnToolError.RETURN_TO_MODEL
    )
    sandbox = models.BooleanField(default=False)
    approval = models.JSONField(default=dict, blank=True)
    tool_limits = models.JSONField(default=dict, blank=True)
    compaction_enabled = models.BooleanField(default=True)
    compaction_trigger_ratio = models.FloatField(default=0.85)
    compaction_reserve_tokens = models.PositiveIntegerField(default=8000)
    compaction_model = models.CharField(max_length=200, blank=True, default="", db_default="")
    context_window = models.PositiveIntegerField(null=True, blank=True)
    trace_days = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    groups = models.ManyToManyField("auth.Group", blank=True, related_name="+")
    trace_groups = models.ManyToManyField("auth.Group", blank=True, related_name="+")
    approver_groups = models.ManyToManyField("auth.Group", blank=True, related_name="+")

    class Meta:
        ordering = ["name", "assistant_id"]
        constraints = [
            models.CheckConstraint(condition=~Q(assistant_id=""), name="assistant_id_not_empty"),
            models.CheckConstraint(
                condition=Q(max_turn__gte=1), name="assistant_max_turn_positive"
            ),
            models.CheckConstraint(
                condition=Q(parallel_calls__gte=1) & Q(parameter_attempts__gte=1),
                name="assistant_counts_positive",
            ),
            models.CheckConstraint(
                condition=Q(run_timeout_seconds__gt=0)
                & Q(tool_timeout_seconds__gt=0)
                & Q(tool_max_seconds__gt=0),
                name="assistant_seconds_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.assistant_id


class AssistantVersion(models.Model):
    """An assistant's configuration as it was saved once: the bundle's entry, without secrets.

    ``number`` counts from 1 for each assistant; ``Assistant.version`` is the newest one's.
    """

    assistant = models.ForeignKey(Assistant, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)
    by = models.CharField(max_length=150, blank=True)
    note = models.CharField(max_length=200, blank=True)
    configuration = models.JSONField()

    class Meta:
        ordering = ["assistant", "-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["assistant", "number"], name="assistant_version_number_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assistant_id} v{self.number}"


class AssistantServer(models.Model):
    """A server of an assistant, in order, with the whitelist (``null`` = all, ``[]`` = no tool)."""

    assistant = models.ForeignKey(Assistant, on_delete=models.CASCADE, related_name="server_links")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="assistant_links")
    position = models.PositiveIntegerField(default=0)
    allowed_tools = models.JSONField(null=True, blank=True, default=None)

    class Meta:
        ordering = ["assistant", "position"]
        constraints = [
            models.UniqueConstraint(fields=["assistant", "server"], name="assistant_server_once"),
        ]

    def __str__(self) -> str:
        return f"{self.assistant_id} - {self.server_id}"


class GlobalPrompt(models.Model):
    """A system prompt that every assistant gets first, unless it disables them."""

    position = models.PositiveIntegerField(unique=True)
    role = models.CharField(max_length=20, default="system")
    content = models.TextField()

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return self.content[:60]


class TrustedNameKind(models.TextChoices):
    """What a trusted name allows."""

    HOST = "host", "host"
    ENV = "env", "environment name"
    MODULE = "module", "module"


class TrustedName(models.Model):
    """A host, environment name or module that an operator's own bundle or environment has named.

    What is typed into a web page or sent by a server is checked against these and the settings
    ``TOOLLOOP_ALLOWED_HOSTS``, ``TOOLLOOP_ALLOWED_ENV`` and ``TOOLLOOP_HOOK_MODULES``.
    """

    kind = models.CharField(max_length=10, choices=TrustedNameKind.choices)
    value = models.CharField(max_length=300)
    source = models.CharField(max_length=100)
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "value"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "value"], name="trusted_name_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.value}"
