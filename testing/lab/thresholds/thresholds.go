// SPDX-License-Identifier: Apache-2.0

// Package thresholds has those that the experiments compare with near.Third, the one of the program.
package thresholds

import "mirrord/near"

// Strict is the paper read literally, at the thresholds that skip most then.
func Strict() near.Options {
	return near.Options{
		MinDoC:        0.1,
		MinFoC:        0.05,
		MinConfidence: 0.5,
		Zero:          near.ZeroStrict,
	}
}

// Best are the thresholds that lose the fewest changes for what they skip.
func Best() near.Options {
	return near.Options{MinFoC: 0.1, MinConfidence: 0.5, Zero: near.ZeroNever}
}
