// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
)

// process is `wavetrain serve`.
type process struct {
	cmd     *exec.Cmd
	metrics string
	log     *os.File
	done    chan struct{}
	err     error
}

// startProcess runs the controller and returns when it says that it is ready.
func startProcess(ctx context.Context, binary string, env []string, logFile string, args ...string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	written, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	p := &process{log: log, done: make(chan struct{})}
	// The system chooses the ports: a free one that we chose could be taken by the
	// time it is used.
	const anyPort = "127.0.0.1:0"
	args = append([]string{"serve", "--metrics-address", anyPort, "--profiling", "--health-address", anyPort}, args...)
	p.cmd = exec.Command(binary, args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, log, log
	// A Ctrl-C in the terminal is for us; the controller is stopped at the end, also
	// when we are killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := p.awaitReady(ctx, written); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// addresses are where the controller says that it listens, by what for.
var addresses = regexp.MustCompile(`msg=listening for=(\w+) address=(\S+)\n`)

// awaitReady waits until the controller answers; its log begins at an offset of
// the file.
func (p *process) awaitReady(ctx context.Context, offset int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("not ready within four minutes"))
	defer cancel()
	for {
		listening, err := p.listening(offset)
		if err != nil {
			return err
		}
		if health, ok := listening["health"]; ok {
			if body, err := get(ctx, "http://"+health+"/readyz"); err == nil {
				p.metrics = "http://" + listening["metrics"]
				return body.Close()
			}
		}
		select {
		case <-p.done:
			return p.ended()
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("start controller: %w; its log is %s", context.Cause(ctx), p.log.Name())
		}
	}
}

// listening reads where the controller listens from its log.
func (p *process) listening(offset int64) (map[string]string, error) {
	content, err := os.ReadFile(p.log.Name())
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, m := range addresses.FindAllSubmatch(content[offset:], -1) {
		found[string(m[1])] = string(m[2])
	}
	return found, nil
}

// ended is the error of a controller that has stopped by itself.
func (p *process) ended() error {
	tail := ""
	if content, err := os.ReadFile(p.log.Name()); err == nil {
		tail = string(content[max(0, len(content)-600):])
	}
	return fmt.Errorf("the controller has stopped: %w; the end of its log:\n%s", p.err, tail)
}

// stop ends the controller and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		<-p.done
	}
	return p.log.Close()
}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", url, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// metric returns the sum over all series of a metric that have the labels; 0 if
// there is none yet.
func (p *process) metric(ctx context.Context, name string, labels map[string]string) (float64, error) {
	body, err := get(ctx, p.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	sum := 0.0
	for _, m := range families[name].GetMetric() {
		if has(m, labels) {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return sum, nil
}

func has(m *dto.Metric, labels map[string]string) bool {
	found := 0
	for _, pair := range m.GetLabel() {
		if labels[pair.GetName()] == pair.GetValue() {
			found++
		}
	}
	return found == len(labels)
}

// cpuProfile writes a CPU profile of d to a file; it returns when d is over.
func (p *process) cpuProfile(ctx context.Context, d time.Duration, file string) error {
	body, err := get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", p.metrics, max(1, int(d.Seconds()))))
	if err != nil {
		return fmt.Errorf("profile the controller: %w", err)
	}
	defer func() { _ = body.Close() }()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, body)
	return errors.Join(err, out.Close())
}

// usage is what processes have used.
type usage struct {
	// Self is the CPU time of the controller process, user and system.
	Self time.Duration
	// Children is the CPU time of processes that it started: render workers and git.
	Children time.Duration
	// Anon is the anonymous resident memory of the controller, in bytes.
	Anon uint64
	// WorkersAnon is that of its living render workers, Workers their number.
	WorkersAnon uint64
	Workers     int
}

func (u usage) cpu() time.Duration { return u.Self + u.Children }

// since returns the CPU times between an earlier usage and this one.
func (u usage) since(before usage) usage {
	u.Self -= before.Self
	u.Children -= before.Children
	return u
}

// usage reads what the controller has used so far.
func (p *process) usage() (usage, error) { return usageOf(p.cmd.Process.Pid) }

// usageOf reads what a process and those that it started have used so far.
func usageOf(pid int) (usage, error) {
	self, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, err
	}
	stat, err := self.Stat()
	if err != nil {
		return usage{}, err
	}
	status, err := self.NewStatus()
	if err != nil {
		return usage{}, err
	}
	u := usage{
		Self:     ticks(stat.UTime + stat.STime),
		Children: ticks(uint(stat.CUTime + stat.CSTime)),
		Anon:     status.RssAnon,
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return usage{}, err
	}
	slices.SortFunc(all, func(a, b procfs.Proc) int { return a.PID - b.PID }) // parents come first
	family := map[int]bool{pid: true}
	for _, proc := range all {
		// A process that has ended meanwhile is counted with its parent.
		stat, err := proc.Stat()
		if err != nil || !family[stat.PPID] {
			continue
		}
		family[proc.PID] = true
		u.Children += ticks(stat.UTime + stat.STime + uint(stat.CUTime+stat.CSTime))
		status, err := proc.NewStatus()
		if err == nil && !strings.HasPrefix(stat.Comm, "git") {
			u.Workers++
			u.WorkersAnon += status.RssAnon
		}
	}
	return u, nil
}

// demandOf is how long the threads of a process and of those that it started have
// run or waited for a processor so far: what they would have used of a machine that
// has nothing else to do. Threads that have ended are missing.
func demandOf(pid int) (time.Duration, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b procfs.Proc) int { return a.PID - b.PID }) // parents come first
	family := map[int]bool{pid: true}
	var demand time.Duration
	for _, proc := range all {
		stat, err := proc.Stat()
		if err != nil || !family[proc.PID] && !family[stat.PPID] {
			continue
		}
		family[proc.PID] = true
		threads, err := procfs.AllThreads(proc.PID)
		if err != nil {
			continue
		}
		for _, thread := range threads {
			if sched, err := thread.Schedstat(); err == nil {
				demand += time.Duration(sched.RunningNanoseconds + sched.WaitingNanoseconds) //nolint:gosec // it overflows after centuries
			}
		}
	}
	return demand, nil
}

// ticks turns the kernel's unit of CPU time, which is 1/100 s to user space on
// all of Linux' platforms, into a duration.
func ticks(n uint) time.Duration {
	return time.Duration(n) * 10 * time.Millisecond //nolint:gosec // it overflows after millennia of CPU time
}

// peak follows the memory of the controller until the function it returns is
// called. Its workers are looked at less often: finding them costs more.
func (p *process) peak() func() usage {
	var most usage
	stop, stopped := make(chan struct{}), sync.WaitGroup{}
	stopped.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; ; n++ {
			if n%10 == 0 {
				if u, err := p.usage(); err == nil {
					most.WorkersAnon, most.Workers = max(most.WorkersAnon, u.WorkersAnon), max(most.Workers, u.Workers)
				}
			}
			if anon, err := p.anon(); err == nil {
				most.Anon = max(most.Anon, anon)
			}
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	})
	return func() usage {
		close(stop)
		stopped.Wait()
		return most
	}
}

// anon is the controller's anonymous resident memory.
func (p *process) anon() (uint64, error) {
	self, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	status, err := self.NewStatus()
	return status.RssAnon, err
}
