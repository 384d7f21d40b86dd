// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"bytes"
	"encoding/xml"
	"net/url"
	"path"
	"strings"

	"mirrord/site"
)

// A Bucket is what one page of the listing of a bucket said, as S3, Google Cloud Storage, MinIO and their
// like write it (ListObjects and ListObjectsV2).
type Bucket struct {
	Files   []site.URL // of its keys; those that end in a slash stand for folders, and are left out
	Folders []site.URL // the listings of its common prefixes
	Next    site.URL   // the next page; zero for the last one, or one without an address
}

// bucketXML is a page of the listing of a bucket.
type bucketXML struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           string
	NextMarker            string
	NextContinuationToken string
	EncodingType          string
	Contents              []struct{ Key string }
	CommonPrefixes        []struct{ Prefix string }
}

// IsBucket reports whether a body begins as the listing of a bucket does.
func IsBucket(head []byte) bool {
	return bytes.Contains(head[:min(len(head), 1024)], []byte("<ListBucketResult"))
}

// ParseBucket returns the listing of a bucket that raw is, and whether it is one. u is where it was had: the
// bucket, or the host that is the bucket. Its query asks for a part of the listing, and says how the next
// ones are asked for. A file with such a listing (bucket.xml) is not a listing.
func ParseBucket(raw []byte, u site.URL) (*Bucket, bool) {
	if u.IsZero() || !IsBucket(raw) || path.Ext(u.Path()) == ".xml" {
		return nil, false
	}
	var x bucketXML
	err := xml.NewDecoder(bytes.NewReader(raw)).Decode(&x)
	if err != nil && len(x.Contents)+len(x.CommonPrefixes) == 0 {
		return nil, false
	}
	b := new(Bucket)
	in := bucketAt{u: u, encoded: x.EncodingType == "url"}
	for i := range x.Contents {
		key, ok := in.name(x.Contents[i].Key)
		if file, valid := in.file(key); ok && valid {
			b.Files = append(b.Files, file)
		}
		in.lastKey = max(in.lastKey, key)
	}
	for i := range x.CommonPrefixes {
		prefix, ok := in.name(x.CommonPrefixes[i].Prefix)
		if folder, valid := in.with("prefix", prefix); ok && valid {
			b.Folders = append(b.Folders, folder)
		}
		in.lastPrefix = max(in.lastPrefix, prefix)
	}
	if strings.EqualFold(x.IsTruncated, "true") {
		b.Next = in.next(&x)
	}
	return b, true
}

// bucketAt makes the addresses of what a page of a bucket's listing names.
type bucketAt struct {
	u                   site.URL
	encoded             bool // names are
	lastKey, lastPrefix string
}

// name returns a key or prefix as it is; false for an invalid one.
func (a *bucketAt) name(s string) (string, bool) {
	if a.encoded {
		var err error
		if s, err = url.QueryUnescape(s); err != nil {
			return "", false
		}
	}
	return s, s != ""
}

// file returns the address of a key. One with a segment of dots has none.
func (a *bucketAt) file(key string) (u site.URL, ok bool) {
	if key == "" || strings.HasSuffix(key, "/") {
		return u, false
	}
	var b strings.Builder
	b.WriteString(a.u.Origin())
	b.WriteString(strings.TrimSuffix(a.u.Path(), "/"))
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "." || segment == ".." {
			return u, false
		}
		b.WriteString(strings.TrimPrefix(escape(segment, false), "."))
	}
	u, _, err := site.Parse(b.String())
	return u, err == nil
}

// with returns the address of another page of the listing: one parameter has a value, and none says where to
// begin.
func (a *bucketAt) with(name, value string) (u site.URL, ok bool) {
	raw, _ := a.u.Query()
	query, err := url.ParseQuery(raw)
	if err != nil {
		return u, false
	}
	for _, begin := range []string{"marker", "continuation-token", "start-after"} {
		query.Del(begin)
	}
	query.Set(name, value)
	base, _, _ := strings.Cut(a.u.String(), "?")
	u, _, err = site.Parse(base + "?" + strings.ReplaceAll(query.Encode(), "+", "%20"))
	return u, err == nil && u != a.u
}

// next returns the address of the next page, zero for the last one. It depends on names where that is
// possible: tokens are others in each answer.
func (a *bucketAt) next(x *bucketXML) (u site.URL) {
	raw, _ := a.u.Query()
	query, _ := url.ParseQuery(raw)
	if query.Get("list-type") != "2" {
		marker, ok := a.name(x.NextMarker)
		if !ok {
			marker = max(a.lastKey, a.lastPrefix)
		}
		if u, ok = a.with("marker", marker); ok && marker != "" {
			return u
		}
		return site.URL{}
	}
	if a.lastKey > a.lastPrefix { // else it begins with the last prefix again
		if u, ok := a.with("start-after", a.lastKey); ok {
			return u
		}
	}
	if u, ok := a.with("continuation-token", x.NextContinuationToken); ok && x.NextContinuationToken != "" {
		return u
	}
	return site.URL{}
}
