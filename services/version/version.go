// Package version says which build is running.
package version

import "runtime/debug"

// version is set by the release build with -ldflags "-X alicloud-controllers.dev/services/version.version=…".
var version string

// String gives the released version, or "dev" with the revision the binary was built from.
func String() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return fromBuild(info)
}

// revisionLength is what git shows of a revision by default in a tree of some size.
const revisionLength = 12

func fromBuild(info *debug.BuildInfo) string {
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return "dev"
	}
	return "dev-" + revision[:min(len(revision), revisionLength)] + dirty
}
