// SPDX-License-Identifier: Apache-2.0

package near

// Strict and Best are those of testing/lab/thresholds, which imports this package.
func Strict() Options {
	return Options{
		MinDoC:        0.1,
		MinFoC:        0.05,
		MinConfidence: 0.5,
		Zero:          ZeroStrict,
	}
}

func Best() Options { return Options{MinFoC: 0.1, MinConfidence: 0.5, Zero: ZeroNever} }
