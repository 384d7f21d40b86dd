// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"fmt"
	"strings"
)

// feedOnly is a page that only the feed links to; sitemapOnly one that only the sitemap does.
const (
	feedOnly    = "/news/for-feed-readers.html"
	sitemapOnly = "/about/colophon.html"
)

type newsItem struct {
	version           int
	path, title, lead string
	body              string
}

func newsUpTo(version int) []newsItem {
	items := []struct{ slug, title, lead, body string }{
		{"dome-repaired", "The dome turns again",
			"After a winter of salt and frost the dome’s wheels have been turned down and set back on their rail.",
			"The rail is the one laid by the first keepers. We cleaned it by hand, a metre an evening, and oiled " +
				"it with the same thin oil that the <a href=\"/docs/{manual}/drive.html\">drive</a> takes."},
		{"quadrantids", "Quadrantids through a gap in the cloud", "Forty minutes of clear sky, thirty-one meteors.",
			"The radiant stood low over the sea. The <a href=\"/almanac/2026/01.html\">almanac for January</a> " +
				"gives the moon’s age; it did not help us."},
		{"open-evening", "An open evening in the long dusk",
			"Visitors may look through the refractor on the last Friday of the month.",
			"Bring a coat. The <a href=\"/about/visit.html\">way up</a> is steep after the second gate."},
		{"andromeda", "The Andromeda galaxy, eleven nights added up",
			"Fine dust lanes in the picture that took us since October.",
			"See <a href=\"/catalogue/m31.html\">its entry in the catalogue</a> and <a href=\"/gallery/#m31\">the " +
				"picture</a>."},
		{"new-clock", "A new clock for the transit room",
			"The pendulum has company: a small receiver now tells it when it is wrong.",
			"It is wrong by less than we had feared: four tenths of a second in a month."},
		{"focus", "How we focus now", "The page on focusing has been written anew.",
			"With the mask described in <a href=\"/docs/{manual}/focus.html\">the instrument pages</a> a beginner " +
				"finds focus in a minute."},
		{"observer", "A new observer",
			"Inés joins us from the southern hemisphere and says our sky is upside down.",
			"She keeps the double stars. Meet her on <a href=\"/about/people.html#ines\">the people’s page</a>."},
		{"correction", "A correction", "The distance of the Ring nebula in our catalogue was an old one.",
			"It is now <a href=\"/catalogue/m57.html\">what later measurements give</a>. We thank a reader."},
		{"handbook", "The manual becomes the handbook", "Our instrument pages have moved to a better address.",
			"Old addresses of single pages are gone; <a href=\"/docs/handbook/\">start here</a>."},
		{"february", "February’s almanac", "Rising and setting for the shortest month.",
			"As ever for our own position: <a href=\"/almanac/2026/02.html\">February 2026</a>."},
		{"hours", "New opening hours", "From this week we open an hour later.",
			"It gets dark later too. See <a href=\"/about/visit.html\">how to visit</a>."},
		{"plates", "Farewell to the film plates", "The last box of plates went to the museum.",
			"The page on them went with it. Their scans are with <a href=\"https://museum.example/plates\">the " +
				"museum</a>."},
		{"doubles", "Two double stars in the catalogue", "Albireo and Mizar, seen with a small glass.",
			"<a href=\"/catalogue/albireo.html\">Albireo</a> is gold and blue; <a " +
				"href=\"/catalogue/mizar.html\">Mizar</a> needs no glass at all."},
		{"aurora", "Green light in the north", "For ten minutes on Sunday the horizon was green.",
			"Nobody had a camera out. It would have been <a href=\"/gallery/\">in the gallery</a>."},
		{"lamp", "The lamp by the door is green now",
			"Red for the eyes inside, green for those who look for the door.", "And so is the lamp of this site."},
		{"comet", "A comet low in the west", "Half an hour after sunset, two fingers above the sea.",
			"Its place for each evening is in <a href=\"/data/comet.csv\">a table</a> (<a " +
				"href=\"/data/comet.json\">or as JSON</a>)."},
	}
	manual := "manual"
	if version >= 5 {
		manual = "handbook"
	}
	var out []newsItem
	for i, it := range items {
		v := i/2 + 1
		if v > version {
			break
		}
		out = append(out, newsItem{v, fmt.Sprintf("/news/%s/%s.html", Published(v).Format("2006-01"), it.slug),
			it.title, it.lead, strings.ReplaceAll(it.body, "{manual}", manual)})
	}
	return out
}

func (b *builder) newsPages(version int) map[string]*file {
	files := map[string]*file{}
	items := newsUpTo(version)
	var list strings.Builder
	list.WriteString(
		"<h1>News</h1>\n<p class=\"lead\">What happened on the headland, newest first.</p>\n<ul class=\"cards\">\n")
	for i := len(items) - 1; i >= 0; i-- {
		n := items[i]
		fmt.Fprintf(&list, "<li><h3><a href=\"%s\">%s</a></h3><p>%s</p><p class=\"meta\">%s</p></li>\n",
			strings.TrimPrefix(n.path, "/news/"), n.title, n.lead, Published(n.version).Format("2 January 2006"))
		pager := "<a href=\"..\">All news</a>"
		if i > 0 {
			pager = fmt.Sprintf("<a rel=\"prev\" href=\"%s\">← %s</a> ", items[i-1].path, items[i-1].title) + pager
		}
		files[n.path] = b.page(n.title, n.lead,
			fmt.Sprintf(
				"<article><h1>%s</h1>\n<p class=\"meta\"><time datetime=\"%s\">%s</time></p>\n<p "+
					"class=\"lead\">%s</p>\n<p>%s</p></article>\n<p class=\"pager\">%s</p>",
				n.title, Published(n.version).Format("2006-01-02"), Published(n.version).Format("2 January 2006"), n.lead,
				n.body, pager))
	}
	list.WriteString("</ul>")
	files["/news/"] = b.page("News", "News from Kestrel Point Observatory.", list.String())
	files[feedOnly] = b.page("For readers of the feed", "A page that only the feed links to.",
		"<h1>For readers of the feed</h1>\n<p>No page links here; whoever reads this came by <a "+
			"href=\"../feed.xml\">the feed</a>. Thank you for following us the old way.</p>")
	return files
}
