package main

import (
	"os"
	"runtime"
	"testing"
)

func TestParseCPU(t *testing.T) {
	t.Parallel()
	const stat = "17 (a (b) c) S 1 17 17 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 100 1 1"
	if got, err := parseCPU(stat); err != nil || got != 2 {
		t.Errorf("got %v, %v; want 2 s", got, err)
	}
	for _, bad := range []string{"", "17 (x", "17 (x) S 1 2", "17 (x) S 1 17 17 0 -1 4194560 100 0 0 0 many 50 0 0"} {
		if got, err := parseCPU(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestParsePeak(t *testing.T) {
	t.Parallel()
	if got, err := parsePeak("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"); err != nil || got != 2 {
		t.Errorf("got %v, %v; want 2 MiB", got, err)
	}
	for _, bad := range []string{"", "Name:\tx\n", "VmHWM:\tmuch kB\n"} {
		if got, err := parsePeak(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

// TestOwnUsage reads what the kernel says of this process.
func TestOwnUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	if err := resetPeak(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if peak, err := peakMiB(os.Getpid()); err != nil || peak <= 0 {
		t.Errorf("peak of memory: %v, %v", peak, err)
	}
	if used, err := cpuSeconds(os.Getpid()); err != nil || used < 0 {
		t.Errorf("CPU time: %v, %v", used, err)
	}
}
