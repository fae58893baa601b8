// What cannot wait for the page's modules: the theme that was chosen last is set before the first
// paint, and what the first view shows is asked for while the modules are read.
(() => {
  const stored = (storage, key) => {
    try {
      return globalThis[storage].getItem(key);
    } catch {
      // Storage may be forbidden; then the system's theme is used, and no token is known.
      return null;
    }
  };
  const theme = stored('localStorage', 'theme');
  if (theme) document.documentElement.dataset.theme = theme;

  const token = stored('sessionStorage', 'yardmaster-token');
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const domain = new URLSearchParams(location.search).get('domain');
  const query = domain ? `?${new URLSearchParams({ domain })}` : '';
  const early = {};
  if (/^(#now.*)?$/.test(location.hash) && !document.hidden) {
    for (const path of ['status', 'queues', 'attention']) {
      const signal = AbortSignal.timeout(15000);
      early[path] = fetch(`api/v1/${path}${query}`, { headers, signal, cache: 'no-store' });
      // The error is seen where the answer is taken.
      early[path].catch(() => {});
    }
  }
  globalThis.yardmasterEarly = early;
})();
