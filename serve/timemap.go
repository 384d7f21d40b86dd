// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"mirrord/site"
)

// timeMap lists the Mementos of u.
func (v *view) timeMap(u site.URL, form string) error {
	changes, err := allStates(v.r.Context(), v.site, u)
	if err != nil {
		return err
	}
	all := mementosOf(changes)
	if len(all) == 0 {
		v.never(v.w, v.r, u)
		return nil
	}
	h := v.w.Header()
	h.Set("Cache-Control", "no-cache")
	if form == "json" {
		return v.timeMapJSON(u, all)
	}
	links := []string{
		link(u.String(), `rel="original"`),
		link(v.at(wellKnown+"timemap/link/"+u.String()), `rel="self"`, `type="application/link-format"`,
			`from="`+all[0].Time.UTC().Format(http.TimeFormat)+`"`,
			`until="`+all[len(all)-1].Time.UTC().Format(http.TimeFormat)+`"`),
		link(v.at(wellKnown+"timegate/"+u.String()), `rel="timegate"`),
	}
	for i, m := range all {
		var rel []string
		if i == 0 {
			rel = append(rel, "first")
		}
		if i == len(all)-1 {
			rel = append(rel, "last")
		}
		links = append(links, v.mementoLink(u, m, append(rel, "memento")))
	}
	text := strings.Join(links, ",\n") + "\n"
	sendText(v.w, v.r, http.StatusOK, "application/link-format", []byte(text))
	return nil
}

// A TimeMap in JSON has the fields that other archives use.
type timeMapJSON struct {
	Original string         `json:"original_uri"`
	Gate     string         `json:"timegate_uri"`
	Map      timeMapForms   `json:"timemap_uri"`
	Mementos mementosOfJSON `json:"mementos"`
}

type timeMapForms struct {
	Link string `json:"link_format"`
	JSON string `json:"json_format"`
}

type mementosOfJSON struct {
	First mementoJSON   `json:"first"`
	Last  mementoJSON   `json:"last"`
	List  []mementoJSON `json:"list"`
}

type mementoJSON struct {
	Time    time.Time `json:"datetime"`
	URI     string    `json:"uri"`
	Version int       `json:"version"`
}

func (v *view) timeMapJSON(u site.URL, all []Version) error {
	m := timeMapJSON{Original: u.String(), Gate: v.at(wellKnown + "timegate/" + u.String()),
		Map: timeMapForms{v.at(wellKnown + "timemap/link/" + u.String()),
			v.at(wellKnown + "timemap/json/" + u.String())}}
	for _, x := range all {
		m.Mementos.List = append(m.Mementos.List,
			mementoJSON{x.Time.UTC().Truncate(time.Second), v.uriM(u, x.Time), x.Number})
	}
	m.Mementos.First, m.Mementos.Last = m.Mementos.List[0], m.Mementos.List[len(all)-1]
	return writeJSON(v.w, v.r, m)
}

// writeJSON sends a value.
func writeJSON(w http.ResponseWriter, r *http.Request, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	sendText(w, r, http.StatusOK, "application/json", append(b, '\n'))
	return nil
}
