// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/internal/places"
	"mirrord/phm"
)

// The offer to programs that mirror a mirror (docs/mirror-protocol.md), below phm.OfferPath:
//
//	(nothing)   phm.Offer, as JSON with an ETag
//	/N/table    an update to version N that has only its file table
//	/N/since/M  an update to version N of one that has version M; 0: of one that has nothing

// maxUpdates is how many updates are written at once; one more waits for updateWait, and gets 503 then. A
// client has one at a time, see Options.Proxies.
const (
	maxUpdates = 2
	updateWait = 10 * time.Second
)

// linkOffer says where the mirror is offered.
func (v *view) linkOffer() {
	if v.Tree != nil {
		v.w.Header().Add("Link", link(v.at(phm.OfferPath), `rel="`+phm.OfferRel+`"`))
	}
}

// offer answers a request below the offer of a mirror.
func (v *view) offer(rest string) (err error) {
	number, what, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	if (rest != "") && (err != nil || n < 1) {
		return ErrNoVersion
	}
	if v.Snapshot, err = v.site.Snapshot(v.r.Context(), n); err != nil {
		return err
	}
	defer v.release()
	if v.Tree == nil {
		return ErrNoVersion
	}
	since, isSince := strings.CutPrefix(what, "since/")
	switch {
	case rest == "":
		return v.describeOffer()
	case what == "table":
		return v.update(nil, phm.UpdateOptions{NoFiles: true})
	case isSince:
		base, err := strconv.Atoi(since)
		if err != nil || base < 0 || base == n {
			return ErrNoVersion
		}
		if base == 0 {
			return v.update(nil, phm.UpdateOptions{})
		}
		old, err := v.site.Snapshot(v.r.Context(), base)
		if err != nil {
			return err
		}
		defer old.release()
		return v.update(old.Tree, phm.UpdateOptions{})
	}
	return ErrNoVersion
}

// describeOffer sends the offer.
func (v *view) describeOffer() error {
	all, err := v.site.Versions()
	if err != nil {
		return err
	}
	var bases []int
	for _, x := range all {
		if x.Number < v.Number {
			bases = append(bases, x.Number)
		}
	}
	m, err := phm.OpenMeta(v.Tree)
	if err != nil {
		return err
	}
	sum := m.TableSum
	if sum == "" {
		if sum, err = tableSum(v.Tree); err != nil {
			return err
		}
	}
	b, err := json.Marshal(phm.NewOffer(m, sum, slices.Clip(bases)))
	if err != nil {
		return err
	}
	tag := sha256.Sum256(b)
	h := v.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+hex.EncodeToString(tag[:16])+`"`)
	if v.r.Header.Get("If-None-Match") == h.Get("ETag") {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	sendText(v.w, v.r, http.StatusOK, "application/json", b)
	return nil
}

func tableSum(tree fs.FS) (string, error) {
	f, err := tree.Open(phm.FilesName)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// update sends an update to the version that is open. When it breaks off the connection does, so that a
// part is not treated as complete.
func (v *view) update(base fs.FS, o phm.UpdateOptions) error {
	place, err := v.updates.Take(v.r.Context(), v.Proxies.Single(v.r))
	if err != nil {
		v.w.Header().Set("Retry-After", "10")
		why := "too many updates are written at the moment"
		if errors.Is(err, places.ErrOwn) {
			why = "another update is sent to this address; one at a time"
		}
		http.Error(v.w, why, http.StatusServiceUnavailable)
		return nil
	}
	defer place.Release()
	o.Charset = func(path string) string {
		r, _, err := v.Table.At(path)
		if err != nil {
			return "" // the file has the error
		}
		return r.Charset
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Cache-Control", "no-cache")
	if v.r.Method == http.MethodHead {
		return nil
	}
	begun, err := place.Send(v.r.Context(), v.w, func(w io.Writer) error {
		_, err := phm.PackUpdate(w, base, v.Tree, o)
		return err
	})
	switch {
	case err == nil:
		return nil
	case !begun:
		h.Del("Content-Type")
		return err
	}
	if v.r.Context().Err() == nil {
		v.log.Warn("update broken off", "job", v.name, "err", err)
	}
	panic(http.ErrAbortHandler)
}
