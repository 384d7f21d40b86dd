// SPDX-License-Identifier: Apache-2.0

// Package env is the environment in which mirrord serves its callers: the command line, the daemon's API, the
// console.
//
// A function of a room of app takes an App and a typed request. It opens the state and the sites that it
// needs,
// reads job files, calls the engine, and returns a typed result or an error whose kind the caller turns into
// an
// exit code or a status (see Error). The JSON form of results is part of the contract with scripts.
//
// The rooms know no flags, terminal, standard streams or exit codes. What a user should read before the
// result
// is there goes to Warn and Note of the App.
package env
