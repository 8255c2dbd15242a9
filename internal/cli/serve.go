package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/internal/clientcontext"
)

const (
	defaultMaxActiveSessions = 50
	defaultPool              = 24
	defaultReserve           = 512 // MiB, of memory and of disk
	defaultHistoryLimit      = 256 // MiB
	defaultHistoryRetention  = 30 * day
	defaultSaveEvery         = 2 * time.Minute
	defaultConnections       = 512
)

func newServe(a *app) *cobra.Command {
	places := clientcontext.Here()
	cfg := ServeConfig{Listen: clientcontext.DefaultListen, DataDir: places.DataDir, MaxActiveSessions: defaultMaxActiveSessions,
		Pool: defaultPool, MemoryReserve: defaultReserve, DiskReserve: defaultReserve, SaveEvery: defaultSaveEvery,
		HistoryLimit: defaultHistoryLimit, HistoryRetention: defaultHistoryRetention, Connections: defaultConnections, LogLevel: "info", LogFormat: "auto"}
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: groupServer,
		Short:   "Run the server",
		Long: `Run the server until SIGTERM or an interrupt. Sandboxes live on; the next server
on the same data folder adopts them. A third interrupt ends it on the spot.

With the default data folder, the server's URL and token are written where this
command line finds them. With another one they are in client.json of that
folder: name it in PADDOCK_CONTEXT.

With --notify-url or --notify-command somebody outside is told when something
waits for an answer or a run ends. The key that signs it is notify.key of the
data folder.

Traces of calls, runs and what the server does for them go to an OpenTelemetry
collector with --otlp-endpoint, or where OTEL_EXPORTER_OTLP_ENDPOINT says;
OpenTelemetry's other variables hold, too: OTEL_EXPORTER_OTLP_HEADERS,
OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and more.
OTEL_SDK_DISABLED=true turns them off.`,
		Example: `  paddock serve
  paddock serve --listen 127.0.0.1:8080 --data-dir /srv/paddock
  PADDOCK_TOKEN=secret paddock serve --data-dir "$(mktemp -d)"`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.complete(cmd, places); err != nil {
				return err
			}
			if err := needRoot(cmd, places); err != nil {
				return err
			}
			cfg.Token, cfg.Out, cfg.Err = a.getenv("PADDOCK_TOKEN"), a.out, a.err
			a.patience.Store(serverPatience)
			return a.hooks.Serve(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", cfg.Listen, "`address` to listen on, host:port")
	f.StringVar(&cfg.DataDir, "data-dir", cfg.DataDir, "`folder` that keeps everything")
	f.StringVar(&cfg.TemplateDir, "template-dir", "", "`folder` of root file systems, best on the disk of /usr (default as root /var/lib/paddock-templates, else templates in the data folder)")
	f.StringVar(&cfg.AgentsDir, "agents", "", "`folder` of installed agents, see 'paddock agent' (default agents in the data folder)")
	f.IntVar(&cfg.MaxActiveSessions, "max-active-sessions", cfg.MaxActiveSessions, "sessions a team may have at once, paused ones included")
	f.IntVar(&cfg.Pool, "pool", cfg.Pool, "most sandboxes to keep started for the next creates; 0 keeps none")
	f.IntVar(&cfg.MemoryReserve, "memory-reserve", cfg.MemoryReserve, "`MiB` of this host's memory that new sessions leave free")
	f.IntVar(&cfg.DiskReserve, "disk-reserve", cfg.DiskReserve, "`MiB` of the data folder's disk that new sessions leave free")
	f.IntVar(&cfg.HistoryLimit, "history-limit", cfg.HistoryLimit, "`MiB` that the history of one session holds; past it native frames, then outputs, then texts are dropped from the oldest, and marked; 0 is no limit")
	f.Var((*days)(&cfg.HistoryRetention), "history-retention", "how `long` rows and events of removed sessions stay readable, such as 30d or 12h; 0 keeps them for ever")
	f.StringVar(&cfg.NotifyURL, "notify-url", "", "`URL` that is told, signed, when something waits for an answer or a run ends")
	f.StringVar(&cfg.NotifyCommand, "notify-command", "", "`command` that is run when something waits for an answer or a run ends")
	f.StringVar(&cfg.OTLPEndpoint, "otlp-endpoint", "", "`URL` of an OpenTelemetry collector that is sent traces (OTLP over HTTP), such as http://localhost:4318")
	f.StringSliceVar(&cfg.DNS, "dns", nil, "`resolver` that sandboxes' names are looked up at, address or address:port; may be repeated (default those of this host)")
	f.StringSliceVar(&cfg.EgressDeny, "egress-deny", nil, "`host`, *.suffix, address or network that no sandbox may reach, whatever its spec says; may be repeated")
	f.StringSliceVar(&cfg.EgressAllow, "egress-allow", nil, "private `network` or address, or one of this host, that sandboxes may reach; may be repeated")
	f.StringVar(&cfg.UpstreamCA, "upstream-ca", "", "PEM `file` of authorities that hosts of brokered secrets may have, beside those that this host trusts")
	f.StringSliceVar(&cfg.Registries, "registry", nil, "`host` or host:port of a registry of images on this host or in a private network, which is out of reach else; may be repeated")
	f.IntVar(&cfg.Connections, "sandbox-connections", cfg.Connections, "connections to the outside that one sandbox may have open")
	f.IntVar(&cfg.Bandwidth, "sandbox-bandwidth", 0, "`MiB` in a second that one sandbox may send, and receive; 0 is no limit")
	f.DurationVar(&cfg.SaveEvery, "save-every", cfg.SaveEvery, "save the files of a session in use so often, beside after each run; it comes back with them should its sandbox be lost")
	f.StringVar(&cfg.LogLevel, "log-level", cfg.LogLevel, "debug, info, warn or error")
	f.StringVar(&cfg.LogFormat, "log-format", cfg.LogFormat, "text, json, or auto: text on a terminal")
	return cmd
}

// needRoot refuses what makes sandboxes to anybody else.
func needRoot(cmd *cobra.Command, places clientcontext.Places) error {
	if places.Root {
		return nil
	}
	return exitWith(exitFailed, "%s needs root, for it makes sandboxes: sudo %s", cmd.CommandPath(), cmd.CommandPath())
}

// complete fills in what follows from other values and checks all of them.
func (cfg *ServeConfig) complete(cmd *cobra.Command, places clientcontext.Places) error {
	if cfg.MaxActiveSessions < 1 {
		return usagef(cmd, "--max-active-sessions is %d, at least 1 is needed", cfg.MaxActiveSessions)
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"--pool", cfg.Pool}, {"--memory-reserve", cfg.MemoryReserve}, {"--disk-reserve", cfg.DiskReserve}, {"--history-limit", cfg.HistoryLimit}, {"--sandbox-bandwidth", cfg.Bandwidth}} {
		if n.value < 0 {
			return usagef(cmd, "%s is %d, it cannot be less than 0", n.flag, n.value)
		}
	}
	if cfg.Connections < 1 {
		return usagef(cmd, "--sandbox-connections is %d, at least 1 is needed", cfg.Connections)
	}
	if cfg.SaveEvery < time.Second {
		return usagef(cmd, "--save-every is %s, at least 1s is needed", cfg.SaveEvery)
	}
	if err := oneOf(cmd, "--log-level", cfg.LogLevel, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	if err := oneOf(cmd, "--log-format", cfg.LogFormat, "auto", "text", "json"); err != nil {
		return err
	}
	if err := folders(&cfg.DataDir, &cfg.TemplateDir, places); err != nil {
		return err
	}
	if cfg.AgentsDir == "" {
		cfg.AgentsDir = agentsFolder(cfg.DataDir)
	}
	var err error
	if cfg.AgentsDir, err = filepath.Abs(cfg.AgentsDir); err != nil {
		return fmt.Errorf("find agents folder: %w", err)
	}
	return nil
}

// agentsFolder is where a server keeps installed agents unless told otherwise.
func agentsFolder(data string) string { return filepath.Join(data, "agents") }

// folders makes both absolute; a template folder that was not named follows.
func folders(data, templates *string, places clientcontext.Places) (err error) {
	if *data, err = filepath.Abs(*data); err != nil {
		return fmt.Errorf("find data folder: %w", err)
	}
	if *templates == "" {
		*templates = filepath.Join(*data, "templates")
		if places.Root {
			*templates = "/var/lib/paddock-templates"
		}
	}
	if *templates, err = filepath.Abs(*templates); err != nil {
		return fmt.Errorf("find template folder: %w", err)
	}
	return nil
}

func oneOf(cmd *cobra.Command, flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return usagef(cmd, "%s is %q, want one of %s", flag, value, strings.Join(words, ", "))
}
