// Values that stay in this browser. Where storage is forbidden nothing is kept, and nothing breaks.

export function keep(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // Not kept.
  }
}

export function kept(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}
