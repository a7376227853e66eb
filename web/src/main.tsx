// Where the page begins.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { App } from "./app";
import { source } from "./data/source";
import { followKeys } from "./keys";
import { followAddress } from "./state";
import { followTheme } from "./theme";

const place = document.getElementById("app");
if (place) {
  place.replaceChildren();
  followTheme();
  followAddress();
  followKeys();
  render(<App source={source()} />, place);
}
