// Marks the present section; the pages work without it.
for (const a of document.querySelectorAll("nav a")) {
  if (a.pathname !== "/" && location.pathname.includes(a.pathname.replace(/index\.html$/, ""))) a.setAttribute("aria-current", "page");
}
