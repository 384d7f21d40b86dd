// The exact time behind "2 h ago", and the hour of an event, in the zone of the reader.
addEventListener("pointerover", function (e) {
  var t = e.target.closest && e.target.closest("time[datetime]");
  if (t) t.title = new Date(t.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
});
function localTimes() {
  document.querySelectorAll("time.when").forEach(function (t) {
    t.className = "";
    t.textContent = new Date(t.dateTime).toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
  });
}
localTimes();
new MutationObserver(localTimes).observe(document.body, { childList: true, subtree: true }); // parts that come later
