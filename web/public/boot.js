// Runs before the first paint, so that a kept theme or language never flashes the other one.
// A file of its own because the content security policy allows no inline script.
(function () {
  var root = document.documentElement;
  var read = function (key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // Storage may be blocked; the system's theme is then used.
    }
  };
  var theme = read('corral.theme');
  var dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'dark' : 'light';
  var language = read('corral.language');
  if (language === 'en' || language === 'zh-TW' || language === 'zh-CN') root.lang = language;
})();
