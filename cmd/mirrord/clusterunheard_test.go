// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"mirrord/cmd/mirrord/cluster"
)

// Keepers that do not answer in time are named, with what to do; other errors stay as they are.
func TestUnheard(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-late.Done()
	silent := fmt.Errorf("read jobs.head: %w", late.Err())
	err := cluster.Unheard(late, silent)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "keepers do not answer") {
		t.Error(err)
	}
	for _, lonely := range []error{&nats.APIError{ErrorCode: 10008}, nats.ErrNoStreamResponse} {
		err := cluster.Unheard(t.Context(), fmt.Errorf("read the cluster: %w", lonely))
		if !strings.Contains(err.Error(), "keepers do not answer") {
			t.Error(err)
		}
	}
	other := errors.New("no such node")
	for _, err := range []error{cluster.Unheard(late, other), cluster.Unheard(t.Context(), other),
		cluster.Unheard(late, nil)} {
		if err != nil && err != other {
			t.Error(err)
		}
	}
	if err := cluster.Unheard(t.Context(), silent); err != silent { // another deadline than that of the command
		t.Error(err)
	}
}
