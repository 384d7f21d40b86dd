// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 is a Store in a bucket of a server that speaks S3, below a prefix. The bucket must exist.
type S3 struct {
	client *minio.Client
	creds  *credentials.Credentials
	bucket string
	prefix string // "" or with a slash at its end
}

// S3Options say where a bucket is. Bucket is required.
type S3Options struct {
	Endpoint string // URL; "" is that of AWS
	Region   string // "" is us-east-1
	Bucket   string
	Prefix   string
	// Keys are asked for again when the server says that they have expired.
	Keys *credentials.Credentials
}

// OpenS3 makes the client. It makes no request.
func OpenS3(o S3Options) (*S3, error) {
	endpoint, lookup := "https://s3.amazonaws.com", minio.BucketLookupAuto
	if o.Endpoint != "" {
		endpoint, lookup = o.Endpoint, minio.BucketLookupPath
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("endpoint %q: it is no http or https address", endpoint)
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	transport, err := minio.DefaultTransport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds:        o.Keys,
		Secure:       u.Scheme == "https",
		Region:       o.Region,
		BucketLookup: lookup,
		Transport:    transport,
		MaxRetries:   1, // Retry does
	})
	if err != nil {
		return nil, err
	}
	prefix := strings.Trim(o.Prefix, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &S3{
		client: client,
		creds:  o.Keys,
		bucket: o.Bucket,
		prefix: prefix,
	}, nil
}

// String implements Store.
func (s *S3) String() string { return "s3://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

// partSize is from which size on an object is put in parts.
const partSize = 64 << 20

// Put implements Store.
func (s *S3) Put(ctx context.Context, name string, data *io.SectionReader, c Condition) (string, error) {
	o := minio.PutObjectOptions{
		ContentType: "application/octet-stream",
		PartSize:    partSize,
		NumThreads:  2,
	}
	switch {
	case c.New:
		o.SetMatchETagExcept("*")
	case c.ETag != "":
		o.SetMatchETag(c.ETag)
	}
	var done minio.UploadInfo
	err := s.renewed(func() (err error) {
		body := io.NewSectionReader(data, 0, data.Size())
		done, err = s.client.PutObject(ctx, s.bucket, s.prefix+name, body, body.Size(), o)
		return err
	})
	if c.ETag != "" && status(err) == http.StatusNotFound { // as AWS answers If-Match for a missing object
		return "", fmt.Errorf("put %s: %w", name, ErrCondition)
	}
	return done.ETag, s.say("put", name, err)
}

// Get implements Store.
func (s *S3) Get(ctx context.Context, name string, from, n int64) ([]byte, Info, error) {
	var o minio.GetObjectOptions
	n = min(n, MaxGet)
	if err := o.SetRange(from, from+max(n, 1)-1); err != nil {
		return nil, Info{}, err
	}
	var b []byte
	var info minio.ObjectInfo
	var head http.Header
	err := s.renewed(func() error {
		r, i, h, err := minio.Core{Client: s.client}.GetObject(ctx, s.bucket, s.prefix+name, o)
		if err != nil {
			return err
		}
		info, head = i, h
		b, err = io.ReadAll(io.LimitReader(r, max(n, 1)+1))
		return errors.Join(err, r.Close())
	})
	if status(err) == http.StatusRequestedRangeNotSatisfiable { // it ends before
		err = s.renewed(func() (err error) {
			info, err = s.client.StatObject(ctx, s.bucket, s.prefix+name, minio.StatObjectOptions{})
			return err
		})
		b = nil
	} else if err == nil {
		size, rerr := wholeSize(head.Get("Content-Range"), info.Size, from, int64(len(b)))
		info.Size, err = size, rerr
	}
	if err != nil {
		return nil, Info{}, s.say("get", name, err)
	}
	return b[:min(int64(len(b)), max(n, 0))], Info{
		Name: name,
		Size: info.Size,
		ETag: info.ETag,
		Time: info.LastModified,
	}, nil
}

// wholeSize is how long an object is of which a part came, by the field Content-Range of the answer. length
// is that of an answer without the field.
func wholeSize(text string, length, from, came int64) (int64, error) {
	if text == "" {
		if from > 0 {
			return 0, errors.New("the server ignores Range")
		}
		return length, nil
	}
	var first, last, size int64
	if _, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &size); err != nil {
		return 0, fmt.Errorf("the server's Content-Range %q cannot be read", text)
	}
	if first != from || last-first+1 != came {
		return 0, fmt.Errorf("the server sent %d bytes from %d on as %q", came, from, text)
	}
	return size, nil
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, name string) error {
	err := s.renewed(func() error {
		return s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
	})
	if status(err) == http.StatusNotFound {
		return nil
	}
	return s.say("delete", name, err)
}

// List implements Store.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		opts := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}
		for o := range s.client.ListObjectsIter(ctx, s.bucket, opts) {
			if o.Err != nil {
				yield(Info{}, s.say("list", prefix, o.Err))
				return
			}
			name := strings.TrimPrefix(o.Key, s.prefix)
			if !yield(Info{Name: name, Size: o.Size, Time: o.LastModified}, nil) {
				return
			}
		}
	}
}

// renewed calls f once more with new keys when the server says that the keys have expired.
func (s *S3) renewed(f func() error) error {
	err := f()
	if code := minio.ToErrorResponse(err).Code; code == "ExpiredToken" || code == "RequestExpired" {
		s.creds.Expire()
		err = f()
	}
	return err
}

// status is the status of an answer that is an error, 0 without one.
func status(err error) int { return minio.ToErrorResponse(err).StatusCode }

// say says what an error of the client means.
func (s *S3) say(op, name string, err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	denied := []string{"ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken",
		"AccessDenied", "RequestTimeTooSkewed"}
	switch {
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("%s: there is no such bucket; create it first: %w", s, ErrDenied)
	case r.StatusCode == http.StatusNotFound:
		return missing(name)
	case r.StatusCode == http.StatusPreconditionFailed || r.StatusCode == http.StatusConflict:
		return fmt.Errorf("%s %s: %w", op, name, ErrCondition)
	case r.Code == "ExpiredToken":
		return fmt.Errorf("%s %s in %s: the credentials have expired; renew them and run the same command again, "+
			"nothing is lost: %w", op, name, s, ErrDenied)
	case slices.Contains(denied, r.Code) || r.StatusCode == 401 || r.StatusCode == 403:
		return fmt.Errorf("%s %s in %s: %w (%s: %s); check the credentials and what they permit", op, name, s,
			ErrDenied, r.Code, r.Error())
	}
	return fmt.Errorf("%s %s in %s: %w", op, name, s, err)
}
