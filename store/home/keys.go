// SPDX-License-Identifier: Apache-2.0

package home

// Buckets of site.db.
var (
	Resources = []byte("resources") // site.URL.Key -> Resource
	Links     = []byte("links")     // number of a document, big endian -> AppendTargets
	Journal   = []byte("journal")   // sequence -> batch of an unfinished run, before format 11
	// version, big endian, then resource key -> the record before that version; empty: there was none
	History  = []byte("history")
	Versions = []byte("versions") // number -> Version as JSON
	Observed = []byte("observed") // number of a run -> Observation
	Looks    = []byte("looks")    // sequence -> look
	Scripts  = []byte("scripts")  // number -> zstd of the edit script against the version before
)

// Keys of the meta bucket.
var (
	KeyPack    = []byte("pack")    // number, committed bytes
	KeyRun     = []byte("run")     // Run as JSON, while a run is unfinished
	KeyPublish = []byte("publish") // the publish that was decided, as JSON, while the link is moved
	KeyBuild   = []byte("build")   // names of trees that are being changed, with spaces between them
	KeyTrees   = []byte("trees")   // notes of the trees, as JSON
	KeyLive    = []byte("live")    // number of the published version
	KeyRuns    = []byte("runs")    // number of runs begun
	// uvarint number of the last file of heads, its committed bytes, then the places of its models
	KeyHeads = []byte("heads")
	// Unix seconds, big endian: when Rebuild made this database; 0 while it has not finished
	KeyRebuilt = []byte("rebuilt")
	KeyFolding = []byte("folding") // how far an older program had folded a chunk
	KeyRests   = []byte("rests")   // version, then where its documents lay and where their rests lie; see Rests
	KeyRules   = []byte("rules")   // fingerprint of the rules under which all stored documents were scanned
	KeyToken   = []byte("token")   // of the last lease; absent when only older versions have opened the site
)

// Names in the folder of a site.
const (
	SiteDB = "site.db" // its database
	// GlanceFile has what lists show of the database, kept by its writer, so that looking at the site needs no
	// copy of it
	GlanceFile = "glance.json"
	// LastingFact begins the names of the files in which facts survive the loss of the database
	LastingFact = "fact."
	// DamagedFolder keeps what Redo and Rebuild took out of use, the second time with "-2" behind it, and so on.
	// Nothing reads it; it may be deleted
	DamagedFolder = "damaged"
)
