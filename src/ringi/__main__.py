from ringi.cli import main

raise SystemExit(main())
