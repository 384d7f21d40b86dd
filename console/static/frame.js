// In a page of a mirror that is shown in a frame: it says how far it was scrolled, and which words were chosen.
(function () {
  var set = -1; // where the page around it scrolled this one, until it is scrolled by other means
  function most() { return Math.max(1, document.documentElement.scrollHeight - innerHeight); }
  function tell(what) { parent.postMessage(what, "*"); }
  addEventListener("scroll", function () {
    if (scrollY == set) return;
    set = -1;
    tell({ at: scrollY / most() });
  });
  document.addEventListener("selectionchange", function () { tell({ says: String(getSelection()) }); });
  addEventListener("message", function (e) {
    if (e.source != parent || typeof e.data.at != "number") return;
    scrollTo({ top: e.data.at * most(), behavior: "instant" });
    set = scrollY;
  });
})();
