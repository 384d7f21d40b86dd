package replica

import "slices"

// Hash says how shingles are hashed.
type Hash uint8

const (
	FastHash   Hash = iota // 64 bits, in constant time for each token
	GoldenHash             // H of the tokens joined by one blank; slow, the same everywhere
)

// Set is a set of 64-bit hashes, in ascending order.
type Set []uint64

// newSet sorts hashes and drops what is there twice.
func newSet(hashes []uint64) Set {
	slices.Sort(hashes)
	return slices.Compact(hashes)
}

// Shingles returns the set of hashes of all k successive tokens; of all tokens together when they are fewer than k; nothing of none.
func Shingles(tokens []string, k int, hash Hash) Set {
	if len(tokens) == 0 {
		return nil
	}
	k = min(max(k, 1), maxK)
	var out []uint64
	if hash == FastHash {
		r := newRoller(k)
		for i, token := range tokens {
			if h := r.add(wordHash(token)); i >= k-1 || i == len(tokens)-1 {
				out = append(out, h)
			}
		}
		return newSet(out)
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
		out = append(out, H(joined))
	}
	return newSet(out)
}

// Resemblance is the size of the intersection of two sets by that of their union, from 0 to 1: of two empty sets 1, of one empty set 0.
// Sets of equal shingles do not mean equal texts.
func Resemblance(a, b Set) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	both := Common(a, b)
	return float64(both) / float64(len(a)+len(b)-both)
}

// Common counts what two sets have in common.
func Common(a, b Set) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}
