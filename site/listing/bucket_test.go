// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/site"
)

// bucketPage is a page of a listing as S3 writes it.
func bucketPage(inside string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>` + inside +
		`</ListBucketResult>`
}

func TestParseBucket(t *testing.T) {
	const host = "http://h.example"
	contents := func(keys ...string) string {
		var b strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&b, `<Contents><Key>%s</Key><ETag>&quot;1&quot;</ETag><Size>3</Size></Contents>`, k)
		}
		return b.String()
	}
	const more = "<IsTruncated>true</IsTruncated>"
	const prefix = "<CommonPrefixes><Prefix>z/</Prefix></CommonPrefixes>"
	for _, c := range []struct {
		name, at, inside string
		files, folders   string
		next             string
	}{
		{"whole", "/", contents("a.txt", "d/b &amp; c.txt", "d/", "../x"), "/a.txt /d/b%20%26%20c.txt", "", ""},
		{"below a path", "/bucket?list-type=2", contents("a.txt"), "/bucket/a.txt", "", ""},
		{"encoded", "/", "<EncodingType>url</EncodingType>" + contents("a%2Bb+c.txt"), "/a%2Bb%20c.txt", "", ""},
		{"folders", "/?delimiter=/&marker=c", contents("d") + prefix, "/d", "/?delimiter=%2F&prefix=z%2F", ""},
		{"marker", "/", contents("a", "b") + more, "/a /b", "", "/?marker=b"},
		{"named marker", "/", contents("a") + more + "<NextMarker>m</NextMarker>", "/a", "", "/?marker=m"},
		{
			"after a key", "/?list-type=2&continuation-token=x", contents("a") + more +
				"<NextContinuationToken>t+1</NextContinuationToken>", "/a", "", "/?list-type=2&start-after=a",
		},
		{
			"token", "/?list-type=2&delimiter=/", prefix + more +
				"<NextContinuationToken>t+1</NextContinuationToken>", "",
			"/?delimiter=%2F&list-type=2&prefix=z%2F", "/?continuation-token=t%2B1&delimiter=%2F&list-type=2",
		},
		{"no progress", "/?marker=b", contents("b") + more, "/b", "", ""},
	} {
		b, ok := ParseBucket([]byte(bucketPage(c.inside)), mustURL(t, host+c.at))
		if !ok {
			t.Errorf("%s: %+v, %v", c.name, b, ok)
			continue
		}
		paths := func(urls ...site.URL) string {
			var out []string
			for _, u := range urls {
				out = append(out, strings.TrimPrefix(u.String(), host))
			}
			return strings.Join(out, " ")
		}
		files, folders, next := paths(b.Files...), paths(b.Folders...), paths(b.Next)
		if files != c.files || folders != c.folders || next != c.next {
			t.Errorf("%s: %q, %q, %q, want %q, %q, %q", c.name, files, folders, next, c.files, c.folders, c.next)
		}
	}
	cut := bucketPage(contents("a", "b"))
	b, ok := ParseBucket([]byte(cut[:len(cut)-30]), mustURL(t, host+"/"))
	if !ok || len(b.Files) == 0 {
		t.Errorf("cut short: %+v, %v", b, ok)
	}
	for _, none := range []string{"/list.xml", "/dir/bucket.xml"} {
		if _, ok := ParseBucket([]byte(cut), mustURL(t, host+none)); ok {
			t.Errorf("%s is recognized as a bucket", none)
		}
	}
}

// For any page, the result of ParseBucket is in the bucket, and no page links to itself.
func FuzzParseBucket(f *testing.F) {
	for _, inside := range []string{
		"", "<Contents><Key>a/b</Key></Contents><IsTruncated>true</IsTruncated>",
		"<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes><EncodingType>url</EncodingType>",
	} {
		f.Add([]byte(bucketPage(inside)), "/")
		f.Add([]byte(bucketPage(inside)), "/b?list-type=2")
	}
	f.Fuzz(func(t *testing.T, page []byte, path string) {
		u, _, err := mustURL(t, "http://h.example/").Resolve(path)
		if err != nil || u.Origin() != "http://h.example" {
			return
		}
		b, ok := ParseBucket(page, u)
		if !ok {
			return
		}
		in := strings.TrimSuffix(u.Path(), "/") + "/"
		for _, x := range b.Files {
			if x.Origin() != u.Origin() || !strings.HasPrefix(x.Path(), in) {
				t.Errorf("%s is not in %s", x, u)
			}
		}
		for _, x := range append(b.Folders, b.Next) {
			if !x.IsZero() && (x == u || x.Path() != u.Path()) {
				t.Errorf("%s links to %s", u, x)
			}
		}
	})
}
