package version

import (
	"runtime/debug"
	"testing"
)

func TestFromBuild(t *testing.T) {
	t.Parallel()
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for _, tc := range []struct {
		name     string
		settings []debug.BuildSetting
		want     string
	}{
		{name: "unknown", want: "dev"},
		{name: "clean", settings: []debug.BuildSetting{setting("vcs.revision", "0123456789abcdef"), setting("vcs.modified", "false")},
			want: "dev-0123456789ab"},
		{name: "dirty", settings: []debug.BuildSetting{setting("vcs.revision", "01234"), setting("vcs.modified", "true")},
			want: "dev-01234-dirty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := fromBuild(&debug.BuildInfo{Settings: tc.settings}); got != tc.want {
				t.Errorf("fromBuild = %q, want %q", got, tc.want)
			}
		})
	}
	if String() == "" {
		t.Error("String is empty")
	}
}
