// The shell of the console: signs in, asks for the status, and shows one view.
import { Component, html, render } from "./html.js";
import { ApiError, call, metrics, setToken, token } from "./api.js";
import { Ask } from "./actions.js";
import { Samples, SAMPLE_MS } from "./samples.js";
import { ErrorBox, ticker } from "./polled.js";
import { clock, shown } from "./text.js";
import { NAMED, routeOf } from "./routes.js";

/** Asks for a token. @param {{onToken: () => void, why: string}} props */
function SignIn({ onToken, why }) {
  const submit = (event) => {
    event.preventDefault();
    setToken(String(new FormData(event.currentTarget).get("token")).trim());
    onToken();
  };
  return html`
    <form class="sign-in" onSubmit=${submit}>
      <h1>actord</h1>
      <p>${shown(why)}</p>
      <label>Token <input name="token" type="password" autocomplete="off" required autofocus /></label>
      <button class="main" type="submit">Sign in</button>
      <p class="quiet">The token stays in this tab and is forgotten when the tab is closed.</p>
    </form>`;
}

/** Keeps an error in one view away from the rest of the page. */
class Boundary extends Component {
  state = { error: null };

  componentDidCatch(error) {
    this.setState({ error });
  }

  render({ children }, { error }) {
    return error ? html`<${ErrorBox} error=${new Error(`This view has an error: ${error.message}`)} />` : children;
  }
}

class Console extends Component {
  state = { status: null, metrics: {}, error: null, lostAt: 0, restartedAt: "", place: location.hash, isPaused: false, asked: null };
  #samples = new Samples();
  #last = Number.NEGATIVE_INFINITY;
  #isRunning = false;
  #asks = 0;

  componentDidMount() {
    addEventListener("hashchange", this.#move);
    ticker.add(this.#tick);
    this.#ask();
  }

  #move = () => {
    this.setState({ place: location.hash }, () => {
      document.getElementById("title")?.focus();
      scrollTo(0, 0);
    });
  };

  /** Without a token that counts, each call would be refused. */
  #isRefused = () => this.state.error?.code === "unauthenticated" || (!this.state.status && this.state.error?.code === "permission_denied");

  #tick = () => {
    if (!this.#isRunning && !this.#isRefused() && performance.now() - this.#last >= SAMPLE_MS) this.#ask();
  };

  #ask = async () => {
    this.#isRunning = true;
    try {
      // Without a token the daemon would refuse the call, and log that.
      if (!token() && (await metrics()).actord_auth_enforced === 1) throw new ApiError("unauthenticated", "");
      const [status, values] = await Promise.all([call("GetStatus", { withCaller: true }), metrics()]);
      this.#samples.add(status, values);
      this.setState((was) => ({
        status, metrics: values, error: null, lostAt: 0,
        restartedAt: was.status && was.status.incarnation !== status.incarnation ? status.startTime : was.restartedAt,
      }));
    } catch (error) {
      this.setState(({ lostAt }) => ({ error, lostAt: lostAt || Date.now() }));
    }
    this.#isRunning = false;
    this.#last = performance.now();
  };

  /** Each dialog is a new one: the browser fires the close event of the last one in
      a later task. @param {{action: any, onDone?: () => void}} asked */
  #askFor = (asked) => this.setState({ asked: { ...asked, number: (this.#asks += 1) } });
  #unask = (asked) => this.setState((was) => (was.asked === asked ? { asked: null } : null));

  #pause = () => {
    ticker.isPaused = !ticker.isPaused;
    this.setState({ isPaused: ticker.isPaused });
    ticker.tick();
  };

  #forget = () => {
    setToken("");
    this.setState(({ status }) => ({ status: null, error: status?.caller?.role ? new ApiError("unauthenticated", "") : null }), () => {
      if (!this.#isRefused()) this.#ask();
    });
  };

  render(_props, { status, metrics: values, error, lostAt, restartedAt, place, isPaused, asked }) {
    if (this.#isRefused()) {
      return html`<main><${SignIn} why=${token() ? error.message : "This daemon checks tokens."} onToken=${this.#ask} /></main>`;
    }
    if (!status) return html`<main>${error ? html`<${ErrorBox} error=${error} />` : "Loading…"}</main>`;
    const app = { status, metrics: values, samples: this.#samples, rights: status.caller, hasStore: "actord_store_full" in values, ask: this.#askFor };
    const { route, query, rest } = routeOf(place);
    const View = route.view;
    document.title = `${route.label} – actord`;
    return html`
      <a class="skip" href="#title" onClick=${(event) => { event.preventDefault(); document.getElementById("title")?.focus(); }}>To the content</a>
      <header>
        <nav aria-label="Views">
          ${NAMED.filter((one) => one.isShown(app)).map((one) => html`<a href=${`#/${one.path}`} aria-current=${one === route ? "page" : undefined}>${one.label}</a>`)}
        </nav>
        <div class="bar">
          <button type="button" aria-pressed=${isPaused} onClick=${this.#pause}>${isPaused ? "Resume" : "Pause"}</button>
          ${app.rights?.role && html`<span><bdi>${shown(app.rights.name)}</bdi>, ${app.rights.role}</span>`}
          ${token() && html`<button type="button" onClick=${this.#forget}>Sign out</button>`}
        </div>
      </header>
      <div role="status">
        ${error && html`<p class="banner">${error.isLost ? "The daemon cannot be reached" : shown(error.message)} since ${clock(new Date(lostAt).toISOString())}. The page may show old data. The console keeps trying to connect.</p>`}
        ${!error && restartedAt && html`<p class="banner">The daemon was started again at ${clock(restartedAt)}.</p>`}
        ${status.state === "DAEMON_STATE_DRAINING" && html`<p class="banner">The daemon is draining.</p>`}
      </div>
      <main>
        <h1 id="title" tabindex="-1">${route.label}</h1>
        <${Boundary} key=${route.path + rest}><${View} app=${app} query=${query} pid=${rest} /></${Boundary}>
      </main>
      ${asked && html`<${Ask} key=${asked.number} action=${asked.action} onDone=${asked.onDone} onClose=${() => this.#unask(asked)} />`}`;
  }
}

render(html`<${Console} />`, document.getElementById("console"));
