// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"fmt"
	"net/http"
	"strings"
)

func (b *builder) frontPages(version int) map[string]*file {
	items := newsUpTo(version)
	var cards strings.Builder
	for i := len(items) - 1; i >= max(0, len(items)-3); i-- {
		fmt.Fprintf(&cards, "<li><h3><a href=\"%s\">%s</a></h3><p>%s</p></li>\n", items[i].path, items[i].title,
			items[i].lead)
	}
	front := `<h1>A clear night is a long page</h1>
<p class="lead">Since 1874 somebody has sat up on this headland and written down what the sky did. This is what they wrote.</p>
<p class="tonight">Tonight’s keeper asks you to leave the torch at the gate. <a href="/about/visit.html">How to visit</a>.</p>
<h2>News</h2>
<ul class="cards">
` + cards.String() + `</ul>
<h2>Look around</h2>
<ul class="cards">
<li><img src="/gallery/small/m31.png" srcset="/gallery/small/m31.png 1x, /gallery/large/m31.png 2x" width="320" height="200" alt="A galaxy seen from the side"><h3><a href="/gallery/">Gallery</a></h3><p>Long exposures and short nights.</p></li>
<li><img src="/gallery/small/pleiades.png" srcset="/gallery/small/pleiades.png 320w, /gallery/large/pleiades.png 640w" sizes="15rem" width="320" height="200" alt="A small cluster of bright stars"><h3><a href="/catalogue/">Catalogue</a></h3><p>What to look for, with how much glass.</p></li>
<li><img src="/gallery/small/dome.png" width="320" height="200" alt="Star trails" loading="lazy"><h3><a href="/docs/">Instruments</a></h3><p>How everything here works, and why it squeaks.</p></li>
</ul>
<p class="meta">Also here: <a href="/almanac/">the almanac</a>, <a href="/archive/">old papers</a>, <a href="/card/">the test card</a>, <a href="/old-home">the old front page</a>, <a href="/private/open.html">an open drawer</a>.</p>`
	hours := "from an hour after sunset"
	if version >= 6 {
		hours = "from two hours after sunset"
	}
	people := "<dt id=\"ada\">Ada Trewin</dt><dd>keeper, variable stars</dd>\n<dt id=\"goran\">Goran " +
		"Lisac</dt><dd>instruments</dd>\n"
	if version >= 4 {
		people += "<dt id=\"ines\">Inés Olmedo</dt><dd>double stars</dd>\n"
	}
	files := map[string]*file{
		"/": b.page("Kestrel Point",
			"An observatory on a headland: news, almanac, catalogue and instruments.", front),
		"/old-home":   redirect(http.StatusMovedPermanently, "/"),
		"/docs/first": redirect(http.StatusFound, "/docs/"),
		"/about/": b.page("About", "Who keeps the observatory, and since when.",
			`<h1>About the observatory</h1><p class="lead">A small dome, a good horizon, and a book that is never closed.</p><p><a href="people.html">People</a> · <a href="history.html">History</a> · <a href="visit.html">Visit</a> · <a href="/ja/">日本語の案内</a></p>`),
		"/about/people.html": b.page("People", "The observers of Kestrel Point.",
			"<h1>People</h1>\n<dl>\n"+people+"</dl>"),
		"/about/history.html": b.page("History", "The observatory since 1874.", `<h1>History</h1>
<p>The first keeper came for the storms and stayed for the stars. The <a href="/archive/logbook.html">logbook</a> begins in 1874, and <a href="/archive/telegram.html">a telegram</a> of 1886 survives.</p>
<blockquote cite="/archive/logbook.html"><p>Clear. Cold. Worth it.</p></blockquote>`),
		"/about/visit.html": b.page("Visit", "How to find us, and when.", `<h1>Visit</h1><p>We open on Fridays, `+hours+`.</p><h2 id="road">The road</h2><p>Leave the car at the second gate.</p>
<p><a href="/about/map.svg"><img src="/about/map.svg" width="360" height="200" alt="Map of the headland" usemap="#headland"></a></p>
<map name="headland"><area shape="circle" coords="250,60,40" href="/docs/" alt="Dome"><area shape="rect" coords="0,120,120,200" href="/about/history.html" alt="Old cottage"></map>`),
		"/about/map.svg": {mime: "image/svg+xml", body: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 200"><rect width="360" height="200" fill="#cfe0ea"/><path d="M0 200V90q90-60 170-40t190 60v90z" fill="#b9c79a"/><path d="M20 200q60-90 130-70t100-70" fill="none" stroke="#8d7b5a" stroke-width="5"/><a href="/docs/"><circle cx="250" cy="60" r="14" fill="#f4efe2" stroke="#131a2b"/></a><text x="272" y="58" font-size="13">Dome</text></svg>
`)},
		sitemapOnly: b.page("Colophon", "How this site is made; only the sitemap knows this page.",
			`<h1>Colophon</h1><p>Set in whatever your machine has. No page links here: it is in <a href="/sitemap.xml">the sitemap</a> only.</p>`),
	}
	return files
}

type object struct {
	slug, name, kind, text string
	since                  int
}

func (b *builder) cataloguePages(version int) map[string]*file {
	ring := "some 1400 light years"
	if version >= 4 {
		ring = "about 2570 light years"
	}
	objects := []object{
		{"m31", "Andromeda galaxy", "galaxy",
			"The farthest thing an eye can see without help, two and a half million light years away.", 1},
		{"m42", "Orion nebula", "nebula", "A cloud lit from inside by four young stars.", 1},
		{"m45", "Pleiades", "cluster", "Six stars to most eyes, seven to good ones, hundreds to a camera.", 1},
		{"m13", "Great cluster in Hercules", "cluster", "A ball of three hundred thousand old suns.", 1},
		{"m57", "Ring nebula", "nebula", "A smoke ring " + ring + " away.", 1},
		{"m51", "Whirlpool galaxy", "galaxy", "Its arms were the first that anybody saw.", 1},
		{"polaris", "Polaris", "star", "Not the brightest, but the most patient.", 1},
		{"algol", "Algol", "star", "It winks every 2 days and 21 hours.", 1},
		{"saturn", "Saturn", "planet", "Nobody forgets the first look.", 1},
		{"albireo", "Albireo", "double star", "Gold and blue.", 7},
		{"mizar", "Mizar", "double star", "The horse; Alcor is its rider.", 7},
	}
	files := map[string]*file{}
	var rows strings.Builder
	for _, o := range objects {
		if o.since > version {
			continue
		}
		fmt.Fprintf(&rows, "<tr><td><a href=\"%s.html\">%s</a></td><td>%s</td></tr>\n", o.slug, o.name, o.kind)
		figure := ""
		if _, ok := pictures(version)[o.slug]; ok {
			figure = fmt.Sprintf(
				`<figure><picture><source media="(min-width: 40rem)" srcset="../gallery/large/%[1]s.png"><img src="../gallery/small/%[1]s.png" width="320" height="200" alt="%[2]s"></picture><figcaption>%[2]s, from our own dome.</figcaption></figure>`, o.slug, o.name)
		}
		files["/catalogue/"+o.slug+".html"] = b.page(o.name, o.text,
			fmt.Sprintf(
				"<h1>%s</h1>\n<p class=\"meta\">%s</p>\n<p class=\"lead\">%s</p>\n%s\n<p><a href=\"./\">Catalogue</a> "+
					"· <a href=\"#main\">Top</a></p>", o.name, o.kind, o.text, figure))
	}
	files["/catalogue/"] = b.page("Catalogue", "What to look for from Kestrel Point.",
		"<h1>Catalogue</h1>\n<p class=\"lead\">Chosen by people who were cold at the "+
			"time.</p>\n<table><thead><tr><th>Name</th><th>Kind</th></tr></thead><tbody>\n"+rows.String()+
			"</tbody></table>")
	return files
}

func (b *builder) instrumentPages(version int) map[string]*file {
	dir, name := "manual", "manual"
	if version >= 5 {
		dir, name = "handbook", "handbook"
	}
	focus := "Move the eyepiece until the star is smallest."
	if version >= 3 {
		focus = "Put the slotted mask over the lens and turn until the spikes cross in the middle."
	}
	chapters := []struct{ slug, title, text string }{
		{"refractor", "The refractor", "Fifteen centimetres of glass from 1881, cleaned twice since."},
		{"drive", "The drive", "A falling weight turns the tube once a day. <code>weight 12 kg, fall 1.8 m</code>"},
		{"focus", "Focusing", focus},
		{"transit", "The transit room", "A slit in the roof, a wire in the eyepiece, and a clock."},
		{"spectroscope", "The spectroscope", "Three prisms and a lot of patience."},
		{"film-plates", "Film plates", "How the plates were coated, exposed and stored."},
	}
	files := map[string]*file{}
	var list strings.Builder
	for i, c := range chapters {
		if c.slug == "film-plates" && version >= 6 {
			continue
		}
		fmt.Fprintf(&list, "<li><a href=\"%s\">%s</a></li>\n", c.slug+".html", c.title)
		prev := chapters[max(0, i-1)]
		// These pages have a base: their links are meant from /docs/, not from where they lie.
		files["/docs/"+dir+"/"+c.slug+".html"] = b.page(c.title, c.title+" of the observatory.",
			fmt.Sprintf(
				"<h1>%s</h1>\n<p>%s</p>\n<p class=\"pager\"><a href=\"%s/%s.html\">%s</a> <a href=\"%s/\">The %s</a> "+
					"<a href=\"./\">Instruments</a></p>",
				c.title, c.text, dir, prev.slug, prev.title, dir, name), `<base href="/docs/">`)
	}
	files["/docs/"+dir+"/"] = b.page("The "+name, "How the instruments of Kestrel Point work.",
		"<h1>The "+name+"</h1>\n<ol>\n"+list.String()+"</ol>")
	files["/docs/"] = b.page("Instruments", "The instruments of Kestrel Point.", fmt.Sprintf(`<h1>Instruments</h1><p class="lead">The <a href="%s/">%s</a> explains each. The <a href="first">first page</a> ever printed is this one.</p>
<figure><object data="dome.svg" type="image/svg+xml" width="320" height="220"><img src="/gallery/small/dome.png" alt="The dome"></object><figcaption>The dome, cut open.</figcaption></figure>`, dir, name))
	files["/docs/dome.svg"] = &file{mime: "image/svg+xml", body: []byte(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 320 220"><defs><style>@import url("/assets/stars.css"); .wall { fill: #8aa0c8 }</style></defs><path d="M60 150a100 100 0 0 1 200 0z" fill="#f4efe2" stroke="#131a2b"/><rect class="wall" x="60" y="150" width="200" height="60"/><use xlink:href="/assets/sprite.svg#dome" x="140" y="100" width="40" height="40"/><image href="/assets/lamp.svg" x="70" y="160" width="24" height="24"/></svg>
`)}
	if version >= 5 {
		files["/docs/manual/"] = redirect(http.StatusMovedPermanently, "/docs/handbook/")
	}
	return files
}

func (b *builder) galleryPages(version int) map[string]*file {
	files := map[string]*file{}
	var t strings.Builder
	t.WriteString(
		"<h1>Gallery</h1>\n<p class=\"lead\">Taken from the dome, some of them through gaps in the " +
			"cloud.</p>\n<ul class=\"cards\">\n")
	pics := pictures(version)
	for _, slug := range sortedPictures(pics) {
		p := pics[slug]
		files["/gallery/small/"+slug+".png"] = b.draw(slug, p, 320, 200)
		files["/gallery/large/"+slug+".png"] = b.draw(slug, p, 640, 400)
		fmt.Fprintf(&t,
			"<li id=\"%[1]s\"><a href=\"large/%[1]s.png\"><img src=\"small/%[1]s.png\" width=\"320\" "+
				"height=\"200\" alt=\"%[2]s\" loading=\"lazy\"></a><h3>%[2]s</h3></li>\n", slug, p.title)
	}
	t.WriteString("</ul>")
	files["/gallery/"] = b.page("Gallery", "Pictures from Kestrel Point.", t.String())
	return files
}
