// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Open makes the store of an address: file:///DIR, or s3://BUCKET/PREFIX with the parameters endpoint and
// region. For S3 the environment has the rest, as other programs read it: AWS_ENDPOINT_URL, AWS_REGION, and
// either AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or a file of credentials
// (AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials) with AWS_PROFILE. The file is read again when what
// it had has expired.
func Open(address string, lookup func(string) (string, bool)) (Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("depot %q: %w", address, err)
	}
	env := func(name string) string {
		v, _ := lookup(name)
		return v
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, fmt.Errorf("depot %q: write the full path behind three slashes: file:///DIR", address)
		}
		return OpenFolder(filepath.Clean(u.Path))
	case "s3":
		return openS3(u, env)
	}
	return nil, fmt.Errorf("depot %q: it begins with neither s3:// nor file:///", address)
}

func openS3(u *url.URL, env func(string) string) (Store, error) {
	o := S3Options{Bucket: u.Host, Prefix: u.Path}
	if u.Host == "" || u.User != nil {
		return nil, errors.New("depot: write s3://BUCKET/PREFIX; keys are set in the environment")
	}
	for key, values := range u.Query() {
		switch key {
		case "endpoint":
			o.Endpoint = values[0]
		case "region":
			o.Region = values[0]
		default:
			return nil, fmt.Errorf("depot: unknown parameter %q; there are endpoint and region", key)
		}
	}
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if o.Endpoint == "" {
			o.Endpoint = env(name)
		}
	}
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if o.Region == "" {
			o.Region = env(name)
		}
	}
	id, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")
	switch {
	case id != "" && secret != "":
		o.Keys = credentials.NewStaticV4(id, secret, env("AWS_SESSION_TOKEN"))
	case id != "" || secret != "":
		return nil, errors.New("depot: set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	default:
		file := env("AWS_SHARED_CREDENTIALS_FILE")
		if home := env("HOME"); file == "" && home != "" {
			file = filepath.Join(home, ".aws", "credentials")
		}
		o.Keys = credentials.NewFileAWSCredentials(file, env("AWS_PROFILE"))
		if _, err := o.Keys.GetWithContext(nil); err != nil {
			return nil, fmt.Errorf("depot: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or %s: %w",
				strings.TrimSpace(file), err)
		}
	}
	return OpenS3(o)
}
