// SPDX-License-Identifier: Apache-2.0

package objectstest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"mirrord/cluster/objects"
)

// Bucket is the bucket of Serve.
const Bucket = "depot"

// Serve starts an S3 server in memory, with an empty bucket, until the test ends. around may be nil.
func Serve(t testing.TB, around func(http.Handler) http.Handler) (endpoint string) {
	t.Helper()
	return ServeBucket(t, Bucket, around)
}

// ServeBucket is Serve with a bucket of another name.
func ServeBucket(t testing.TB, bucket string, around func(http.Handler) http.Handler) (endpoint string) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(backend).Server()
	if around != nil {
		h = around(h)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// OpenS3 makes a client of Serve.
func OpenS3(t testing.TB, endpoint, prefix string) *objects.S3 {
	t.Helper()
	s, err := objects.OpenS3(objects.S3Options{
		Endpoint: endpoint,
		Bucket:   Bucket,
		Prefix:   prefix,
		Keys:     credentials.NewStaticV4("other-user", "something-secret", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
