// SPDX-License-Identifier: Apache-2.0

package hosts

import "mirrord/replica/hash"

// pathHash is a fast hash of a path or leaf.
func pathHash(b []byte) uint64 { return hash.Mix(hash.Token(b)) }
