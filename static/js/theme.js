// In the head, before anything is painted: the chosen colours, and a mark that scripts run.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("toolloop-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's scheme holds then.
  }
})();
