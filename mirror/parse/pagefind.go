// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mirrord/site"
)

// The search index of Pagefind (format 0.9 to 1.x) is in a directory of the site:
//
//	pagefind.js             loads pagefind-entry.json
//	pagefind-entry.json     names a pf_meta file and a program for each language
//	pagefind.HASH.pf_meta   names all other files; gzip, a signature, CBOR (RFC 8949)
//	index/HASH.pf_index     words
//	fragment/HASH.pf_fragment, filter/HASH.pf_filter

const pagefindEntry = "pagefind-entry.json"

// namesFiles reports whether a body that is neither a document nor a script is a part of a search index that
// names other parts.
func namesFiles(u site.URL) bool {
	name := path.Base(u.Path())
	return name == pagefindEntry || path.Ext(name) == ".pf_meta"
}

// bundlePath is the option of Pagefind's user interface that names the directory of the index. Starlight
// writes "/base".replace(/\/$/,"")+"/pagefind/".
var bundlePath = regexp.MustCompile(
	`\bbundlePath:\s*["']([\w./~-]*)["'](?:\.replace\(/\\/\$/,\s*["']{2}\)\s*\+\s*["']([\w./~-]+)["'])?`)

// pagefindBundle returns the script of the index that a script or a page opens, if its address depends on
// nothing else.
func pagefindBundle(data []byte) (refs []string) {
	if !bytes.Contains(data, []byte("bundlePath")) {
		return nil
	}
	for _, m := range bundlePath.FindAllSubmatch(data, 2) {
		dir := string(m[1])
		if m[2] != nil {
			dir = strings.TrimSuffix(dir, "/") + string(m[2])
		}
		if strings.HasPrefix(dir, "/") {
			refs = append(refs, strings.TrimSuffix(dir, "/")+"/pagefind.js")
		}
	}
	return refs
}

// indexLoads returns the other parts that a part of the index names, relative to it.
func indexLoads(b *Body) []string {
	if path.Base(b.URL.Path()) == pagefindEntry {
		return entryLoads(b.Data)
	}
	return metaLoads(b.Data)
}

func entryLoads(data []byte) (refs []string) {
	var entry struct {
		Languages map[string]struct {
			Hash string  `json:"hash"`
			Wasm *string `json:"wasm"`
		} `json:"languages"`
	}
	if json.Unmarshal(data, &entry) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(entry.Languages)) {
		l, program := entry.Languages[name], "unknown"
		if l.Wasm != nil {
			program = *l.Wasm
		}
		refs = append(refs, "./pagefind."+l.Hash+".pf_meta", "./wasm."+program+".pagefind")
	}
	return refs
}

// Limits for reading a pf_meta file: bytes, unpacked, and items of CBOR, of which each page has three.
const (
	mostMeta  = 16 << 20
	mostItems = 1 << 20
)

// metaLoads reads [version, [[fragment, words], …], [[from, to, index], …], [[name, filter], …], …].
func metaLoads(data []byte) (refs []string) {
	if zr, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		data, _ = io.ReadAll(io.LimitReader(zr, mostMeta))
	}
	data, ok := bytes.CutPrefix(data, []byte("pagefind_dcd"))
	if !ok {
		return nil
	}
	d := cborReader{data: data, left: mostItems}
	top, err := d.item(0)
	list, _ := top.([]any)
	if err != nil || len(list) < 4 {
		return nil
	}
	for i, part := range []struct {
		hash      int
		dir, more string
	}{
		{0, "fragment/", ".pf_fragment"},
		{2, "index/", ".pf_index"},
		{1, "filter/", ".pf_filter"},
	} {
		files, _ := list[i+1].([]any)
		for _, file := range files {
			fields, _ := file.([]any)
			if len(fields) <= part.hash || len(refs) == mostLoads {
				continue
			}
			if hash, ok := fields[part.hash].(string); ok {
				refs = append(refs, part.dir+hash+part.more)
			}
		}
	}
	return refs
}

// cborReader decodes what pf_meta files consist of: arrays, texts and integers. An integer is read as nil.
type cborReader struct {
	data []byte
	left int // items that may come
}

var errCBOR = errors.New("not the CBOR of a search index")

// item reads the next item, which is depth arrays deep.
func (d *cborReader) item(depth int) (any, error) {
	if len(d.data) == 0 || depth > 8 {
		return nil, errCBOR
	}
	major, n := d.data[0]>>5, uint64(d.data[0]&31)
	d.data = d.data[1:]
	if n >= 24 {
		width := 1 << (n - 24)
		if n > 27 || len(d.data) < width {
			return nil, errCBOR
		}
		n = 0
		for _, c := range d.data[:width] {
			n = n<<8 | uint64(c)
		}
		d.data = d.data[width:]
	}
	switch major {
	case 0, 1:
		return nil, nil
	case 3:
		if n > uint64(len(d.data)) {
			return nil, errCBOR
		}
		s := string(d.data[:n])
		d.data = d.data[n:]
		return s, nil
	case 4:
		if n > uint64(len(d.data)) || n > uint64(d.left) { // each item has a byte at least
			return nil, errCBOR
		}
		d.left -= int(n)
		list := make([]any, n)
		for i := range list {
			var err error
			if list[i], err = d.item(depth + 1); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, errCBOR
}
