// Two versions of a page scroll together, and the words that are chosen in one go into the form below. Of two
// pictures the older one covers the newer one up to the slider.
var frames = Array.from(document.querySelectorAll(".sides iframe"));
addEventListener("message", function (e) {
  var from = frames.findIndex(function (f) { return f.contentWindow === e.source; });
  if (from < 0) return;
  if (typeof e.data.at == "number") frames.forEach(function (f, i) {
    if (i != from) f.contentWindow.postMessage({ at: e.data.at }, "*");
  });
  var says = document.getElementById("says");
  if (says && typeof e.data.says == "string" && e.data.says.trim()) says.value = e.data.says.trim().slice(0, 1000);
});
var pictures = document.querySelector(".pictures"), slide = document.getElementById("slide");
if (pictures && slide) {
  var images = pictures.querySelectorAll("img"), stack = document.createElement("div");
  stack.className = "stack panel";
  stack.append(slide.closest("p"), images[1], images[0]);
  pictures.after(stack);
  slide.closest("p").hidden = false;
  var move = function () { images[0].style.clipPath = "inset(0 " + (100 - slide.value) + "% 0 0)"; };
  slide.addEventListener("input", move);
  move();
}
