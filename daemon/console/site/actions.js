// Buttons that change something: each asks before, and shows the lines for a shell
// that do the same.
import { Component, html } from "./html.js";
import { call, token } from "./api.js";
import { TOKEN_FILE, curl } from "./commands.js";
import { ErrorBox } from "./polled.js";
import { shown } from "./text.js";

/**
 * @typedef {object} Action
 * @property {string} label of the button
 * @property {string} title of the dialog
 * @property {string} method
 * @property {boolean} [isDangerous]
 * @property {{name: string, label: string, value?: string, isLong?: boolean,
 *   options?: string[]}[]} [fields]
 * @property {(values: Record<string, string>) => object} request
 * @property {(values: Record<string, string>) => string} command of actorctl
 * @property {(answer: any) => string} [said] what the answer means
 */

/** @param {any} app @param {string} method @returns {boolean} */
export const may = (app, method) => app.rights?.methods?.includes(method) ?? false;

/** @param {{label: string, text: string}} props */
function Line({ label, text }) {
  const copy = () => navigator.clipboard?.writeText(text);
  return html`
    <div class="line">
      <code tabindex="0" role="region" aria-label=${label}>${shown(text)}</code>
      <button type="button" onClick=${copy} aria-label=${`Copy the line for ${label}`}>Copy</button>
    </div>`;
}

/** @param {{field: any, value: string, onInput: (event: any) => void}} props */
function Field({ field, value, onInput }) {
  const props = { name: field.name, value, onInput, autocomplete: "off" };
  if (field.options) {
    return html`<label>${field.label}
      <select ...${props}>${field.options.map((one) => html`<option value=${one} selected=${one === value}>${one}</option>`)}</select></label>`;
  }
  return field.isLong
    ? html`<label>${field.label}<textarea rows="4" ...${props} /></label>`
    : html`<label>${field.label}<input ...${props} /></label>`;
}

/** The dialog of an action. It belongs to the whole page: the row with the button
    may be gone before the answer is read. */
export class Ask extends Component {
  state = {
    values: Object.fromEntries((this.props.action.fields ?? []).map((one) => [one.name, one.value ?? ""])),
    error: null,
    said: "",
    isRunning: false,
  };
  /** @type {HTMLDialogElement|null} */
  dialog = null;

  componentDidMount() {
    this.dialog?.showModal();
  }

  #run = async (event) => {
    event.preventDefault();
    const { action, onDone } = this.props;
    this.setState({ isRunning: true, error: null });
    try {
      const answer = await call(action.method, action.request(this.state.values));
      this.setState({ isRunning: false, said: action.said?.(answer) ?? "Done." });
      onDone?.();
    } catch (error) {
      this.setState({ isRunning: false, error });
    }
  };

  #input = (event) => {
    const { name, value } = event.currentTarget;
    this.setState(({ values }) => ({ values: { ...values, [name]: value } }));
  };

  render({ action, onClose }, { values, error, said, isRunning }) {
    const request = action.request(values);
    return html`
      <dialog ref=${(dialog) => { this.dialog = dialog; }} onClose=${onClose} aria-labelledby="ask-title">
        <form onSubmit=${this.#run}>
          <h2 id="ask-title">${action.title}</h2>
          ${(action.fields ?? []).map((field) => html`<${Field} field=${field} value=${values[field.name]} onInput=${this.#input} />`)}
          <p class="quiet">The same from a shell:</p>
          <${Line} label="actorctl" text=${action.command(values)} />
          <${Line} label="curl" text=${curl(action.method, request)} />
          ${token() && html`<p class="quiet">In the line for curl, replace ${TOKEN_FILE} with the path of the file that holds your token. actorctl takes the path with --token-file.</p>`}
          ${error && html`<${ErrorBox} error=${error} />`}
          <p role="status">${said}</p>
          <div class="buttons">
            <button type="button" onClick=${() => this.dialog?.close()}>Close</button>
            ${!said && html`<button type="submit" class=${action.isDangerous ? "danger" : "main"} disabled=${isRunning}>${action.label}</button>`}
          </div>
        </form>
      </dialog>`;
  }
}

/** @param {{app: any, action: Action, onDone?: () => void}} props */
export function ActionButton({ app, action, onDone }) {
  if (!may(app, action.method)) return null;
  return html`<button type="button" class=${action.isDangerous ? "danger" : ""} onClick=${() => app.ask({ action, onDone })}>${action.label}</button>`;
}
