package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, which is 100 on every platform of Linux that Go runs on.
const ticksPerSecond = 100

const kibPerMiB = 1024

// cpuSeconds reads how much CPU time, of users and of the system, a process has used so far.
func cpuSeconds(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return parseCPU(string(data))
}

// parseCPU reads utime and stime, fields 14 and 15 of proc_pid_stat(5). The name in field 2 may have blanks and brackets.
func parseCPU(stat string) (float64, error) {
	const first, utime, stime = 3, 14, 15
	_, rest, ok := cutLast(stat, ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) <= stime-first {
		return 0, fmt.Errorf("read CPU time: unexpected %q", stat)
	}
	total := 0.0
	for _, field := range []string{fields[utime-first], fields[stime-first]} {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		total += ticks
	}
	return total / ticksPerSecond, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// peakMiB reads the largest resident memory of a process since resetPeak.
func peakMiB(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return parsePeak(string(data))
}

func parsePeak(status string) (float64, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			return 0, fmt.Errorf("read memory: %w", err)
		}
		return kib / kibPerMiB, nil
	}
	return 0, errors.New("read memory: no VmHWM")
}

// resetPeak makes the peak begin anew, see clear_refs in proc(5).
func resetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset peak of memory: %w", err)
	}
	return nil
}
