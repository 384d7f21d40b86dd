// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"encoding/hex"
)

// hiddenMark is the attribute in which Cloudflare hides a mail address.
const hiddenMark = "data-cfemail"

// revealed returns a page in which the mail addresses that Cloudflare hides are as under the key 0. The first
// byte of such an address is a key that each answer draws, with which the others are combined.
func revealed(page []byte) []byte {
	own := false
	for _, mark := range [...]string{hiddenMark + `="`, "/cdn-cgi/l/email-protection#"} {
		for at := 0; ; {
			i := bytes.Index(page[at:], []byte(mark))
			if i < 0 {
				break
			}
			at += i + len(mark)
			end := at
			for end < len(page) && (digit(page[end]) || (page[end]|0x20 >= 'a' && page[end]|0x20 <= 'f')) {
				end++
			}
			raw, err := hex.DecodeString(string(page[at:end]))
			if err != nil || len(raw) == 0 {
				continue
			}
			if !own {
				page, own = bytes.Clone(page), true
			}
			for k, key := 0, raw[0]; k < len(raw); k++ {
				raw[k] ^= key
			}
			hex.Encode(page[at:end], raw)
			at = end
		}
	}
	return page
}
