// SPDX-License-Identifier: Apache-2.0

package text

import (
	"mirrord/replica/hash"
)

// Hash says how shingles are hashed.
type Hash uint8

const (
	FastHash   Hash = iota // 64 bits, in constant time for each token
	GoldenHash             // H of the tokens joined by one blank; slow, the same everywhere
)

// Shingles returns the set of hashes of all k successive tokens; of all tokens together when they are fewer
// than k; nothing of none.
func Shingles(tokens []string, k int, kind Hash) hash.Set {
	if len(tokens) == 0 {
		return nil
	}
	k = min(max(k, 1), maxK)
	var out []uint64
	if kind == FastHash {
		r := newRoller(k)
		for i, token := range tokens {
			if h := r.add(wordHash(token)); i >= k-1 || i == len(tokens)-1 {
				out = append(out, h)
			}
		}
		return hash.NewSet(out)
	}
	k = min(k, len(tokens))
	var joined []byte
	for i := 0; i+k <= len(tokens); i++ {
		joined = joined[:0]
		for j, token := range tokens[i : i+k] {
			if j > 0 {
				joined = append(joined, ' ')
			}
			joined = append(joined, token...)
		}
		out = append(out, hash.H(joined))
	}
	return hash.NewSet(out)
}
