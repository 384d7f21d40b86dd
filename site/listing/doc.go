// SPDX-License-Identifier: Apache-2.0

// Package listing reads the directory indexes that web servers make, as evidence of what has changed.
//
// One request for an index tells name, time and size of every file of a directory, so it can stand for a
// request per file. That is only true of pages that a server made of its directory at that moment. A page
// that lists links is something else, and Parse must never take one for the other: the price of a listing
// missed is requests, the price of a listing imagined is a stale mirror.
//
// # Listings
//
// Parse takes a page for a listing of the directory u only when all of this holds:
//
//   - The path of u ends in a slash, and the page has no <base>.
//   - The page names the directory in the server's words ("Index of /pub/", "Directory listing for /pub/",
//     "host - /pub/"; caddy: breadcrumbs or title), in its title or first heading, and that name agrees with
//     u: one path is the end of the other. What names another directory is a copy of a listing, not one. Only
//     pages with the sort links of Apache or fancyindex and a link to the parent may go without (HEADER.html
//     replaces the heading there).
//   - The entries stand in one <pre>, <table> or <ul> as the server writes it: directly below the heading, or
//     below the server's column titles. Each row of it is the parent, or one direct child of u with its own
//     name as text (cut short if the server does that), followed by what the columns say. A link that leads
//     elsewhere, two entries of one name, a second region of that kind: no listing.
//
// What stands outside that region (a HEADER or README, a footer) does not matter. JSON and XML are taken when
// every record has exactly the members that nginx or caddy write.
//
// # What it proves
//
// Two observations of an entry with equal Entry.Evidence say "not changed". They cannot see a change that
// keeps both time and size, nor one made within the precision of the time after the page was made: ask
// Entry.Settled about the older observation. They say nothing of directories (a directory's time does not
// tell of changes inside its files) nor of programs (the time of index.php is not that of its output). A copy
// of a listing, saved as index.html where it was made, looks exactly like one; users of listings must audit
// them, and compare an entry with what the resource's own answers say: Entry.Agrees.
//
// So evidence is used like this: the listing is requested first, then the resource; if the entry was Settled
// when the listing was requested and Agrees with the resource's answer, Entry.Evidence is kept with the
// resource. In a later run a listing whose entry has the same evidence spares the request. (A listing newer
// than the resource's answer must not be kept with it: a change between the two would never be seen. Agrees
// alone does not tell when the answer has no Last-Modified.)
//
// A page may be cut short or filtered by its query, and a server hides names (dot files, IndexIgnore): a name
// that never was in the listing may exist; one that was there and is no longer is gone or hidden.
//
// # Formats
//
//	server       region                       time                       size                      zone
//	nginx        <pre>, name date size        02-Jan-2006 15:04          bytes, or 9999, 10K, 2M   UTC or local
//	nginx JSON   [{name type mtime size}]     RFC 1123, GMT              bytes                     UTC
//	nginx XML    <list><file mtime size>      2006-01-02T15:04:05Z       bytes                     UTC
//	fancyindex   <table id=list>              2006-Jan-02 15:04, or set  bytes, or 1.5 MiB         UTC or local
//	apache       <ul>, <pre> or <table>       2006-01-02 15:04, or 02-Jan-2006 15:04; 999, 1.5K, 12M    local
//	lighttpd     <table>, Name … Type         2006-Jan-02 15:04:05       0.1K, 1.4M (cut off)      local
//	caddy        <table>, <time datetime>     2006-01-02T15:04:05Z       bytes in data-            UTC
//	caddy JSON   [{name size url mod_time …}] RFC 3339                   bytes                     UTC
//	iis          <pre>, date size name        locale: 6/12/2014 3:25 AM  bytes                     local
//	python       <ul>                         none                       none                      -
//
// Where UTC and local time look alike, the time is a wall clock (Entry.Local); nginx, when told to write
// local time, moves all times of a listing as the clocks change, which costs requests and no truth. Rounded
// sizes are a range. IIS writes dates in the server's locale: day and month are distinguished by the whole
// page, else the time is unknown.
//
// Sources: nginx ngx_http_autoindex_module.c and ngx-fancyindex; httpd mod_autoindex.c with apr_strfsize;
// lighttpd mod_dirlisting.c; caddy modules/caddyhttp/fileserver/browse.html; CPython Lib/http/server.py. The
// pages in testdata were made by these servers (their scripts and drawings cut out), but for those of IIS and
// caddy 2.10, written after what these are known to write.
package listing
