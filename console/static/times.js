// The exact time behind "2 h ago", in the zone and language of the reader.
addEventListener("pointerover", function (e) {
  var t = e.target.closest && e.target.closest("time[datetime]");
  if (t) t.title = new Date(t.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
});
