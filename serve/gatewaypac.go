// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net/http"
	"strings"

	"mirrord/site"
)

// servePAC answers with the file by which browsers send the mirrored sites of plain HTTP to the gateway, and
// all else where it is.
func (g *gateway) servePAC(w http.ResponseWriter, r *http.Request) {
	sites, err := g.list()
	if err != nil {
		g.failed(w, r, "", err)
		return
	}
	origins := map[string]bool{}
	for _, x := range sites {
		for _, p := range x.Prefixes {
			if u, _, err := site.Parse(p); err == nil && strings.HasPrefix(p, "http://") {
				origins[u.Origin()+"/"] = true
			}
		}
	}
	list, err := json.Marshal(origins) // sorted, and safe in a script
	way := "PROXY "
	if g.scheme(r) == "https" {
		way = "HTTPS "
	}
	proxy, perr := json.Marshal(way + r.Host + "; DIRECT")
	if err != nil || perr != nil {
		g.failed(w, r, "", err)
		return
	}
	isolatePage(w.Header())
	w.Header().Set("Cache-Control", "no-cache")
	body := "var mirrored = " + string(list) + ";\n" +
		"function FindProxyForURL(url, host) {\n" +
		"  var origin = /^http:\\/\\/[^\\/?#]*/.exec(url);\n" +
		"  if (origin && mirrored[origin[0].replace(/:80$/, \"\").toLowerCase() + \"/\"] === true)\n" +
		"    return " + string(proxy) + ";\n" +
		"  return \"DIRECT\";\n" +
		"}\n"
	sendText(w, r, http.StatusOK, "application/x-ns-proxy-autoconfig", []byte(body))
}
