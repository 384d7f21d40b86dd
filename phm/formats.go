// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"iter"
	"slices"
	"strings"
)

// formats describes document formats, as the paper wants it (Kovács, Micsik, Schermann 1996): readers learn
// what they need to open a file. A line has the short name, MIME types, extensions, what the format is, and
// what opens it. Of formats with the same type or extension the first one counts. It is no list of all
// formats: of an unknown one nothing is said.
const formats = `
html  | text/html                                       | html htm       | web page (HTML) | a web browser
xhtml | application/xhtml+xml                           | xhtml xht      | web page (XHTML) | a web browser
css   | text/css                                        | css            | style sheet of web pages (CSS) | a web browser
js    | text/javascript application/javascript application/x-javascript | js mjs | program of web pages (JavaScript) | a web browser
json  | application/json application/ld+json            | json map jsonld | structured data (JSON) | a text editor
xml   | application/xml text/xml                        | xml xsl        | structured text (XML) | a web browser or a text editor
rss   | application/rss+xml                             | rss            | news feed (RSS) | a feed reader
atom  | application/atom+xml                            | atom           | news feed (Atom) | a feed reader
txt   | text/plain                                      | txt text log   | plain text | a text editor
md    | text/markdown                                   | md             | text with simple markup (Markdown) | a text editor
csv   | text/csv                                        | csv            | table as text (CSV) | a spreadsheet program
pdf   | application/pdf application/x-pdf               | pdf            | Portable Document Format | a web browser or a PDF reader
ps    | application/postscript                          | ps eps         | page description (PostScript) | Ghostscript or a PostScript printer
dvi   | application/x-dvi                               | dvi            | typeset text of TeX (DVI) | a DVI viewer such as xdvi
tex   | application/x-tex application/x-latex text/x-tex | tex ltx       | source text of TeX or LaTeX | a text editor, or TeX to typeset it
djvu  | image/vnd.djvu image/x-djvu                     | djvu djv       | scanned pages (DjVu) | a DjVu viewer
epub  | application/epub+zip                            | epub           | electronic book (EPUB) | an e-book reader
rtf   | application/rtf text/rtf                        | rtf            | Rich Text Format | a word processor
doc   | application/msword                              | doc dot        | text document of Microsoft Word, before 2007 | a word processor
docx  | application/vnd.openxmlformats-officedocument.wordprocessingml.document | docx | text document of Microsoft Word | a word processor
odt   | application/vnd.oasis.opendocument.text         | odt            | OpenDocument text | a word processor such as LibreOffice
xls   | application/vnd.ms-excel                        | xls            | table of Microsoft Excel, before 2007 | a spreadsheet program
xlsx  | application/vnd.openxmlformats-officedocument.spreadsheetml.sheet | xlsx | table of Microsoft Excel | a spreadsheet program
ods   | application/vnd.oasis.opendocument.spreadsheet  | ods            | OpenDocument table | a spreadsheet program such as LibreOffice
ppt   | application/vnd.ms-powerpoint                   | ppt pps        | slides of Microsoft PowerPoint, before 2007 | a presentation program
pptx  | application/vnd.openxmlformats-officedocument.presentationml.presentation | pptx | slides of Microsoft PowerPoint | a presentation program
odp   | application/vnd.oasis.opendocument.presentation | odp            | OpenDocument slides | a presentation program such as LibreOffice
png   | image/png image/apng                            | png apng       | image (PNG) | a web browser
jpg   | image/jpeg image/jpg image/pjpeg                | jpg jpeg jpe   | photograph (JPEG) | a web browser
gif   | image/gif                                       | gif            | image, may be animated (GIF) | a web browser
webp  | image/webp                                      | webp           | image (WebP) | a web browser
avif  | image/avif                                      | avif           | image (AVIF) | a recent web browser
svg   | image/svg+xml                                   | svg svgz       | drawing (SVG) | a web browser
ico   | image/x-icon image/vnd.microsoft.icon           | ico            | icon of a web site | a web browser
bmp   | image/bmp image/x-ms-bmp                        | bmp dib        | image (Windows bitmap) | an image viewer
tiff  | image/tiff                                      | tif tiff       | image, often a scan (TIFF) | an image viewer
mp4   | video/mp4                                       | mp4 m4v        | film (MPEG-4) | a media player or a web browser
webm  | video/webm                                      | webm           | film (WebM) | a media player or a web browser
mpeg  | video/mpeg                                      | mpg mpeg       | film (MPEG) | a media player
avi   | video/x-msvideo video/avi                       | avi            | film (AVI) | a media player
mov   | video/quicktime                                 | mov qt         | film (QuickTime) | a media player
ogv   | video/ogg                                       | ogv            | film (Ogg) | a media player or a web browser
mp3   | audio/mpeg audio/mp3                            | mp3            | sound (MP3) | a media player or a web browser
ogg   | audio/ogg application/ogg                       | ogg oga opus   | sound (Ogg) | a media player or a web browser
wav   | audio/wav audio/x-wav audio/wave                | wav            | sound (WAV) | a media player or a web browser
flac  | audio/flac audio/x-flac                         | flac           | sound without loss (FLAC) | a media player
midi  | audio/midi audio/x-midi                         | mid midi       | notes of music (MIDI) | a MIDI player
woff  | font/woff application/font-woff font/woff2      | woff woff2     | font of web pages | a web browser
ttf   | font/ttf font/otf font/sfnt application/x-font-ttf | ttf otf     | font | a web browser, or installation as a font
zip   | application/zip application/x-zip-compressed    | zip            | archive of files (ZIP) | an archive program such as unzip
tar   | application/x-tar                               | tar            | archive of files (tar) | an archive program such as tar
gz    | application/gzip application/x-gzip             | gz tgz         | compressed file (gzip) | gzip; for .tar.gz and .tgz tar
bz2   | application/x-bzip2 application/x-bzip          | bz2 tbz2       | compressed file (bzip2) | bzip2; for .tar.bz2 tar
xz    | application/x-xz                                | xz txz         | compressed file (xz) | xz; for .tar.xz tar
zst   | application/zstd                                | zst            | compressed file (Zstandard) | zstd
7z    | application/x-7z-compressed                     | 7z             | archive of files (7-Zip) | 7-Zip
rar   | application/vnd.rar application/x-rar-compressed | rar           | archive of files (RAR) | unrar
iso   | application/x-iso9660-image application/x-cd-image | iso         | image of a CD or DVD | a program that mounts or burns it
deb   | application/vnd.debian.binary-package application/x-debian-package | deb | software package (Debian) | apt or dpkg
rpm   | application/x-rpm application/x-redhat-package-manager | rpm     | software package (RPM) | rpm or dnf
jar   | application/java-archive                        | jar            | program (Java) | a Java runtime
exe   | application/vnd.microsoft.portable-executable application/x-msdownload application/x-msdos-program | exe msi | program (Windows) | Windows
wasm  | application/wasm                                | wasm           | program of web pages (WebAssembly) | a web browser
warc  | application/warc                                | warc           | archive of web pages (WARC) | a replay program such as pywb
`

// format is one line of formats.
type format struct {
	name       string
	types      []string
	extensions []string
	what       string // the format
	needs      string // what opens it
}

// allFormats yields the lines of formats.
func allFormats() iter.Seq[format] {
	return func(yield func(format) bool) {
		for line := range strings.Lines(formats) {
			f := strings.Split(strings.TrimSpace(line), "|")
			if len(f) != 5 {
				continue
			}
			ok := yield(format{
				name:       strings.TrimSpace(f[0]),
				types:      strings.Fields(f[1]),
				extensions: strings.Fields(f[2]),
				what:       strings.TrimSpace(f[3]),
				needs:      strings.TrimSpace(f[4]),
			})
			if !ok {
				return
			}
		}
	}
}

// DescribeFormats says of each type that Count has set what its files are and what opens them, when that is
// known.
func (m *Meta) DescribeFormats() {
	known := map[string]format{}
	for f := range allFormats() {
		for _, t := range f.types {
			known[t] = f
		}
	}
	types := slices.Clone(m.Types)
	for i := range types {
		f := known[essence(types[i].Type)]
		types[i].Format, types[i].Needs = f.what, f.needs
	}
	m.Types = types
}
