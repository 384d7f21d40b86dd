// In a page of a mirror that is shown in a frame: it says how far it was scrolled, and which words were chosen.
(function () {
  var set = 0; // when the page around it scrolled this one
  function most() { return Math.max(1, document.documentElement.scrollHeight - innerHeight); }
  function tell(what) { parent.postMessage(what, "*"); }
  addEventListener("scroll", function () { if (Date.now() - set > 150) tell({ at: scrollY / most() }); });
  document.addEventListener("selectionchange", function () { tell({ says: String(getSelection()) }); });
  addEventListener("message", function (e) {
    if (e.source != parent || typeof e.data.at != "number") return;
    set = Date.now();
    scrollTo({ top: e.data.at * most(), behavior: "instant" });
  });
})();
