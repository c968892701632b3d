import { inBrowser, onContentUpdated, useData, type Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { watch } from "vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  /** Pictures follow the reader's choice of the site's scheme; without scripts, that of the reader's system. */
  setup() {
    const { isDark } = useData();
    const choose = () => {
      for (const source of document.querySelectorAll<HTMLSourceElement>("picture > source")) source.media = isDark.value ? "all" : "not all";
    };
    onContentUpdated(choose);
    if (inBrowser) watch(isDark, choose);
  },
} satisfies Theme;
