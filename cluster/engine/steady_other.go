// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package engine

import "time"

var began = time.Now()

// steady is a clock that cannot be set.
func steady() time.Duration { return time.Since(began) }
