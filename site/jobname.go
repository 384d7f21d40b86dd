// SPDX-License-Identifier: Apache-2.0

package site

import "fmt"

// CheckJobName checks a name of a job and of the folder of its site: 1 to 64 bytes of a-z, 0-9, '.', '_' and
// '-', the first a letter or digit, never "..".
func CheckJobName(s string) error {
	bad := func(why string) error { return fmt.Errorf("bad job name %s: %s", quote(s), why) }
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
	return nil
}
