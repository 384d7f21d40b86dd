// SPDX-License-Identifier: Apache-2.0

package policy

import "math"

// The price of bytes. The answer to a request for an unchanged unit transfers bytes in vain: a few hundred
// where the server answers 304, the whole body where it does not. The bytes of a changed unit have a price
// as well. So a request is made when the changes that it is expected to find, less the price of their bytes,
// come to at least the price of the request and of the bytes in vain:
//
//	expected · (1 - price of the bytes of a change) >= price + price of the bytes in vain
//
// How much more must be expected by this than without a price of bytes is a number for each unit, its factor.

// Weights say what answers transfer.
type Weights interface {
	// Bytes returns how many bytes the answer for a unit has when the unit is as it was, and when it changed.
	Bytes(u ID) (same, changed float64)
}

// megabyte is a million bytes, as in the prices of networks.
const megabyte = 1e6

// mostFactor is the factor of units whose bytes cost more than a change counts.
const mostFactor = 1e9

// factors are how much more must be expected of each unit because of its bytes: at least 1. Nil: bytes cost
// nothing.
type factors []float32

func newFactors(m *Model, o *Options) factors {
	if o.PriceMB == 0 || o.Weights == nil {
		return nil
	}
	price := o.Price
	if price <= 0 { // everything is requested: the factors decide on the order only
		price = DefaultPrice
	}
	f := make(factors, m.Units())
	for u := range f {
		same, changed := o.Weights.Bytes(ID(u))
		byByte := o.PriceMB / megabyte
		left := 1 - byByte*max(0, changed-same)
		f[u] = float32(min(mostFactor, (1+byByte*same/price)/max(left, 1/mostFactor)))
	}
	return f
}

func (f factors) of(u ID) float64 {
	if f == nil {
		return 1
	}
	return float64(f[u])
}

// class is the class of units by their factor: units of one group differ by less than a factor of two, so
// that a heavy one does not keep the others waiting.
func (f factors) class(u ID) uint64 {
	if f == nil {
		return 0
	}
	return uint64(min(mostClass, math.Log2(f.of(u))))
}

// mostClass bounds the classes: they have 5 bits of rank.
const mostClass = 31
