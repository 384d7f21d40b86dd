// SPDX-License-Identifier: Apache-2.0

package living

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// program is a program that makes a site, with what a test knows of it.
type program struct {
	name  string
	start string // path of the first page
	job   string // further lines of the job

	items   int            // pages of the content,
	content *regexp.Regexp // whose addresses these are; the group tells them apart
	lists   *regexp.Regexp // pages that show the way to content
	junk    *regexp.Regexp // what a reader of a copy does not miss
	shows   *regexp.Regexp // files that show an edit without its words

	alone bool // it answers one request at a time: several at once get "Internal Server Error" in half a page
	begin func(p *place)
	edit  func(p *place, n int) // writes marker(n)

	short bool // part of the ordinary tests
	alike bool // its pages say enough to robots to be mirrored without a profile, too

	times, share float64 // bounds of requests and junk, where these are not those of a known program
}

// unknown returns a program as one that no profile knows.
func (x program) unknown() program {
	x.name, x.job, x.short = x.name+" without a profile", `profile = "none"`, false
	x.times, x.share = 1.6, 0.30
	return x
}

// marker is what an edit writes.
func marker(n int) string { return fmt.Sprintf("MARKER-EDIT-%02d", n) }

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

// programs are the programs, those of the ordinary tests first.
func programs() []program {
	return []program{
		{
			name:    "dokuwiki",
			short:   true,
			alike:   true,
			start:   "/doku.php?id=start",
			items:   30,
			content: re(`[?&]id=guide(?::|%3[Aa])(p\d+)$`),
			junk: re(`do=(edit|login|register|resendpwd|profile|revisions|diff|index|recent|backlink|media|export)` +
				`|rev=|idx=|lib/exe/(detail|mediamanager)`),
			shows: re(`feed`),
			begin: beginDokuWiki,
			edit: func(p *place, n int) {
				p.run("site", "php", "-r", fmt.Sprintf("define('DOKU_CONF', '%s/conf/'); define('NOSESSION', 1);"+
					"define('DOKU_INC', '%[1]s/site/'); require 'inc/init.php';"+
					"saveWikiText('guide:p%d', '====== p%[2]d ======\n%s %s', 'an edit');",
					p.dir, 6+n, words(n, 50), marker(n)))
			},
		},
		{
			name:    "fossil",
			start:   "/",
			items:   12,
			content: re(`^/wiki\?name=(Note\d+)(?:&p)?$`),
			lists: re(`^/(timeline|dir|brlist|taglist|tree|leaves|wcontent|reportlist|home|index)?` +
				`([?&](ci=(tip|trunk)|type=tree|name=[a-z]+))*$|^/info/`),
			junk: re(`^/(login|vdiff|fdiff|annotate|blame|praise|tarball|zip|sqlar|raw|hexdump|artifact|whatis|` +
				`stat|urllist|sitemap|attach|wikiedit|winfo|finfo|mlink|deltachain|wdiff|help|search|timeline\?)`),
			shows: re(`timeline|^index|home|wcontent|^info/`),
			begin: beginFossil,
			edit: func(p *place, n int) {
				p.write("note", fmt.Sprintf("# Note %d\n\n%s\n\n%s\n", n%12, words(n, 40), marker(n)))
				p.run(".", "fossil", "wiki", "commit", fmt.Sprintf("Note%d", n%12), "note", "-R", "r.fossil", "-M",
					"text/x-markdown")
			},
		},
		{
			name:    "hgweb",
			start:   "/",
			alone:   true,
			job:     `obey_nofollow = "profile"`,
			items:   12,
			content: re(`/file/(?:tip|default|[0-9a-f]{12})/(notes\d+\.txt)$`),
			lists:   re(`^/(shortlog|log|graph|tags|branches|bookmarks|file|rev|changelog)?(/[^/]*/?)?$`),
			junk: re(`atom-|rss-|raw-|style=raw|/(diff|comparison|annotate|archive|filelog)/|/log/.*/|` +
				`[?&](revcount|patch)=`),
			shows: re(`^(index|shortlog|log|graph|tags|branches|rev|file|changelog|bookmarks)`),
			begin: func(p *place) {
				p.needs("hg", "mercurial")
				p.run(".", "hg", "init", "r")
				commits(p, "hg", "hg", "commit", "-q", "-A", "-u", "Ada", "-d", "%d 0", "-m")
				p.write("r/.hg/hgrc", "[web]\nname = Lamp\nallow-archive = gz\n")
				p.serves("r", nil, "hg", "serve", "-a", "127.0.0.1", "-p", "%d")
			},
			edit: func(p *place, n int) {
				p.add(fmt.Sprintf("r/notes%d.txt", n%12), marker(n)+"\n")
				p.run("r", "hg", "commit", "-u", "Ada", "-m", "An edit: "+marker(n))
			},
		},
		{
			name:    "gitweb",
			start:   "/?p=r.git",
			job:     `obey_nofollow = "profile"`,
			items:   12,
			content: re(`[?;]a=blob;f=(notes\d+\.txt)`),
			lists:   re(`a=(summary|tree|shortlog|heads|tags|commit|tag|project_list)\b|^/(\?p=r\.git)?$`),
			junk: re(`a=(blobdiff|blob_plain|blame|commitdiff|patch|snapshot|history|search|rss|atom|opml|` +
				`project_index|log|object)`),
			shows: re(`a=(summary|tree|shortlog|heads|tags|commit|blob)|^index|p=r\.git`),
			begin: func(p *place) {
				p.needs("/usr/share/gitweb/gitweb.cgi", "gitweb")
				beginGit(p)
				p.write("gitweb.conf", "our $projectroot = '"+p.dir+"';\n$my_uri = '"+p.url+"/';\n"+
					"@stylesheets = ('/gitweb.css'); $logo = '/git-logo.png'; $favicon = '/git-favicon.png';\n"+
					"$javascript = '/gitweb.js';\n")
				p.cgi("/usr/share/gitweb/gitweb.cgi", "/usr/share/gitweb/static",
					"GITWEB_CONFIG="+p.dir+"/gitweb.conf")
			},
			edit: editGit,
		},
		{
			name:    "cgit",
			short:   true,
			start:   "/r.git/",
			job:     `obey_nofollow = "profile"`,
			items:   12,
			content: re(`^/r\.git/tree/(notes\d+\.txt)$`),
			lists:   re(`^/r\.git/((tree|log|refs|commit|summary|about|tag)/?(\?(h|id)=[^&]*)?)?$|^/$`),
			junk: re(`/(blame|diff|rawdiff|patch|snapshot|atom|stats|plain)/|` +
				`[?&](ss|dt|context|follow|showmsg|qt|q|s|ofs|id2)=`),
			shows: re(`^(r\.git/|index)`),
			begin: func(p *place) {
				p.needs("/usr/lib/cgit/cgit.cgi", "cgit")
				beginGit(p)
				p.write("cgitrc", "css=/cgit.css\nlogo=/cgit.png\nfavicon=/favicon.ico\nvirtual-root=/\n"+
					"snapshots=tar.gz\nenable-index-links=1\nrepo.url=r.git\nrepo.path="+p.dir+"/r.git\n"+
					"repo.desc=Lamp\n")
				p.cgi("/usr/lib/cgit/cgit.cgi", "/usr/share/cgit", "CGIT_CONFIG="+p.dir+"/cgitrc")
			},
			edit: editGit,
		},
		{
			name:    "mediawiki",
			alike:   true,
			start:   "/wiki/Main_Page",
			items:   30,
			content: re(`^/wiki/Article_(\d+)$`),
			junk: re(`action=|veaction|redlink|oldid=|diff=|printable=|UserLogin|CreateAccount|returnto=|feed=|` +
				`/wiki/Special:`),
			lists: re(`^/wiki/Category:`),
			shows: re(`list=recentchanges|Special%3ARecentChanges`),
			begin: beginMediaWiki,
			edit: func(p *place, n int) {
				p.write("t/edit.txt", words(n, 40)+" "+marker(n))
				p.run("site", "sh", "-c",
					fmt.Sprintf("php maintenance/edit.php -u Admin 'Article %d' < ../t/edit.txt", n))
				p.run("site", "php", "maintenance/runJobs.php")
			},
		},
		{
			name:    "shaarli",
			start:   "/",
			items:   30,
			content: re(`^/shaare/([\w-]+)$`),
			lists:   re(`[?&]page=`),
			junk: re(`/login|/admin|/shaare/private|/tools|/feed|/daily|searchtags=|searchterm=|add-tag|remove-tag|` +
				`/links-per-page|untagged-only|visibility|/tags/|/picture-wall|linksperpage|/open-search`),
			shows: re(`feed`),
			begin: beginShaarli,
			edit:  editShaarli,
		},
	}
}

// beginDokuWiki makes a wiki that was written two months ago.
func beginDokuWiki(p *place) {
	p.needs("php", "php-cli php-mbstring php-xml php-intl")
	p.needs("/usr/share/dokuwiki", "dokuwiki")
	p.copies("/usr/share/dokuwiki", "site")
	p.copies("/var/lib/dokuwiki", "site")
	p.copies("/etc/dokuwiki", "conf")
	p.run(".", "rm", "-rf", "site/install.php", "site/conf", "conf/local.php", "conf/users.auth.php")
	p.write("conf/local.php", "<?php\n$conf['savedir'] = '"+p.dir+"/site/data';\n$conf['useacl'] = 0;\n")
	text := "====== Start ======\n"
	for i := 1; i <= 30; i++ {
		text += fmt.Sprintf("  * [[:guide:p%d]]\n", i)
		p.write(fmt.Sprintf("site/data/pages/guide/p%d.txt", i), fmt.Sprintf(
			"====== p%d ======\n%s [[:guide:p%d]] [[missing:m%d]]\n", i, words(i, 50), i%30+1, i))
	}
	p.write("site/data/pages/start.txt", text)
	p.run(".", "find", "site/data/pages", "-name", "*.txt", "-exec", "touch", "-d", "60 days ago", "{}", "+")
	p.php("site", "dokuwiki.php")
}

// beginFossil makes a repository with a wiki, tickets and some files, which everyone may follow.
func beginFossil(p *place) {
	p.needs("fossil", "fossil")
	p.run(".", "fossil", "init", "r.fossil", "-A", "ada", "--date-override", "2026-01-01 00:00:00")
	p.run(".", "fossil", "sql", "-R", "r.fossil", "UPDATE user SET cap = 'hjorz' WHERE login LIKE 'no%'")
	p.run(".", "mkdir", "w")
	p.run("w", "fossil", "open", "../r.fossil")
	for i := range 12 {
		p.write("w/notes.txt", words(i, 30)+"\n")
		p.run("w", "fossil", "addremove")
		p.run("w", "fossil", "commit", "--no-warnings", "--date-override",
			fmt.Sprintf("2026-02-%02d 10:00:00", i+1), "-m", "Change "+fmt.Sprint(i))
		p.write("note", fmt.Sprintf("# Note %d\n\n%s [Note%d]\n", i, words(i, 40), (i+1)%12))
		p.run("w", "fossil", "wiki", "create", fmt.Sprintf("Note%d", i), "../note", "-M", "text/x-markdown")
	}
	p.serves(".", nil, "fossil", "server", "r.fossil", "--port", "%d", "--localhost", "--baseurl", p.url)
}

// commits fills a repository, the last time with a tag.
func commits(p *place, tool string, commit ...string) {
	p.t.Helper()
	now := time.Now()
	for i := 1; i <= 30; i++ {
		name := fmt.Sprintf("r/notes%d.txt", i%12)
		old, _ := os.ReadFile(filepath.Join(p.dir, name))
		p.write(name, string(old)+words(i, 30)+"\n")
		at := now.Add(-time.Duration(31-i) * 7 * time.Hour).Unix()
		var args []string
		for _, a := range commit {
			if a == "%d 0" {
				a = fmt.Sprintf("%d 0", at)
			}
			args = append(args, a)
		}
		args = append(args, fmt.Sprintf("Change %d: %s", i, words(i, 5)))
		if tool == "git" {
			p.run("r", "git", "add", ".")
			args = append([]string{"env", fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", at),
				fmt.Sprintf("GIT_AUTHOR_DATE=%d +0000", at)}, args...)
		}
		p.run("r", args...)
		if i%10 == 0 && tool == "hg" {
			p.run("r", "hg", "tag", "-u", "Ada", "-d", fmt.Sprintf("%d 0", at), fmt.Sprint("v", i))
		} else if i%10 == 0 {
			p.run("r", "git", "tag", fmt.Sprint("v", i))
		}
	}
}

// beginGit makes a repository of git, r.git with its files in r.
func beginGit(p *place) {
	p.needs("git", "git")
	p.run(".", "git", "init", "-q", "-b", "main", "r")
	p.run("r", "git", "config", "user.name", "Ada")
	p.run("r", "git", "config", "user.email", "ada@example.org")
	commits(p, "git", "git", "commit", "-q", "-m")
	p.run(".", "ln", "-s", "r/.git", "r.git")
	p.write("r/.git/description", "Lamp\n")
}

func editGit(p *place, n int) {
	p.add(fmt.Sprintf("r/notes%d.txt", n%12), marker(n)+"\n")
	p.run("r", "git", "commit", "-q", "-a", "-m", "An edit: "+marker(n))
}

// beginMediaWiki makes a wiki in SQLite.
func beginMediaWiki(p *place) {
	p.needs("php", "php-cli php-sqlite3 php-mbstring php-xml php-intl php-curl php-apcu")
	p.needs("/usr/share/mediawiki", "mediawiki")
	p.copies("/usr/share/mediawiki", "site")
	p.run(".", "rm", "-f", "site/LocalSettings.php")
	p.run(".", "mkdir", "data")
	p.run("site", "php", "maintenance/install.php", "--dbtype", "sqlite", "--dbpath", p.dir+"/data", "--dbname",
		"wiki", "--scriptpath", "", "--server", p.url, "--lang", "en", "--pass", "Adm1nPassw0rd!x", "--skins",
		"Vector", "Field Wiki", "Admin")
	p.add("site/LocalSettings.php",
		"$wgArticlePath = \"/wiki/$1\"; $wgUsePathInfo = true; $wgMainCacheType = CACHE_ACCEL;\n")
	all := "Welcome."
	for i := 1; i <= 30; i++ {
		all += fmt.Sprintf(" [[Article %d]]", i)
		p.write(fmt.Sprintf("t/Article %d.txt", i), fmt.Sprintf(
			"%s\n\n== More ==\n%s See [[Article %d]] and [[Missing %d]]. [[Category:Kind %d]]\n",
			words(i, 40), words(i+50, 40), i%30+1, i, i%4))
	}
	p.write("t/Main Page.txt", all)
	p.run("site", "sh", "-c", "php maintenance/importTextFiles.php -u Admin --overwrite ../t/*.txt")
	p.run("site", "php", "maintenance/runJobs.php")
	p.php("site", "mediawiki.php")
}
