package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	command "github.com/mcpedge/mcpedge/tests/helpers/process"
)

const stopWithin = 15 * time.Second

// process is one started program.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read only after done
}

// start runs a program in dir with its output going to the file log.
func start(name, dir, log, program string, args ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the program has its own copy
	p := &process{name: name, cmd: command.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	bindToParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop asks the program to end and kills it when it does not within stopWithin. It reports a program
// that had ended on its own or had to be killed.
func (p *process) stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended during the run: %v\n%s", p.name, p.err, p.tail())
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopWithin):
		err := killGroup(p.cmd)
		<-p.done
		return errors.Join(fmt.Errorf("%s did not stop within %s of SIGTERM and was killed\n%s", p.name, stopWithin, p.tail()), err)
	}
}

// tail returns the end of the program's output.
func (p *process) tail() []byte {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return last(raw)
}

// freePorts returns n loopback addresses that were free a moment ago.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := freeport.Listen()
		if err != nil {
			return nil, err
		}
		defer l.Close() // at the end, so that no port is handed out twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
