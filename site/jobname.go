// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
)

// ErrBadJobName says that a name cannot name a job.
var ErrBadJobName = errors.New("bad job name")

// JobName names a job and the folder of its site: 1 to 64 bytes of a-z, 0-9, '.', '_' and '-', the first a
// letter or digit, never "..". ParseJobName is the only way to make one of foreign text.
type JobName string

// ParseJobName checks a name.
func ParseJobName(s string) (JobName, error) {
	bad := func(why string) (JobName, error) {
		return "", fmt.Errorf("%w %s: %s", ErrBadJobName, quote(s), why)
	}
	if s == "" {
		return bad("is empty")
	}
	if len(s) > 64 {
		return bad("is longer than 64 bytes")
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'):
		case i == 0:
			return bad("must start with a lower-case letter or a digit")
		case c == '.' && s[i-1] == '.':
			return bad(`must not hold ".."`)
		case c == '.' || c == '_' || c == '-':
		default:
			return bad("only a-z, 0-9, '.', '_' and '-' are allowed")
		}
	}
	return JobName(s), nil
}
