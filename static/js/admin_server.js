// The page of a server: only the fields of the chosen transport, and the whole command to read.

const transport = document.getElementById("id_transport");
const KINDS = ["stdio", "http", "sse", "python"];

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function lines(id) {
  return (document.getElementById(id)?.value ?? "").split("\n").filter((line) => line.trim());
}

function commandLine() {
  const command = document.getElementById("id_command").value.trim();
  if (!command) return "";
  const cwd = document.getElementById("id_cwd").value.trim();
  const words = [...lines("id_env_lines"), ...[command, ...lines("id_args_lines")].map(quoted)];
  return `${cwd ? `cd ${quoted(cwd)} && ` : ""}${words.join(" ")}`;
}

function showTransport() {
  for (const fieldset of document.querySelectorAll("fieldset[class*='for-']")) {
    const own = KINDS.filter((kind) => fieldset.classList.contains(`for-${kind}`));
    fieldset.classList.toggle("off-transport", !own.includes(transport.value));
  }
}

if (transport) {
  transport.addEventListener("change", showTransport);
  showTransport();
}

const box = document.querySelector(".field-confirm_command");
if (box) {
  const shown = document.createElement("code");
  shown.className = "data cmd-line";
  box.prepend(shown);
  const write = () => {
    shown.textContent = commandLine();
    shown.hidden = !shown.textContent;
  };
  document.addEventListener("input", write);
  write();
}
