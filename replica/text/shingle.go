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
	if kind == FastHash {
		return hash.NewSet(ShingleList(tokens, k))
	}
	k = min(max(k, 1), maxK, len(tokens))
	var out []uint64
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

// ShingleList returns the fast hashes of all k successive tokens in their order, as [Shingles] has them as a
// set.
func ShingleList(tokens []string, k int) []uint64 {
	k = min(max(k, 1), maxK)
	out := make([]uint64, 0, max(1, len(tokens)-k+1))
	r := newRoller(k)
	for i, token := range tokens {
		if h := r.add(wordHash(token)); i >= k-1 || i == len(tokens)-1 {
			out = append(out, h)
		}
	}
	return out
}
